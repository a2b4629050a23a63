# Everything a user or CI runs. Needs Python 3.11, make and the package registry; nothing else.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
WORKSPACE ?= .lorebase
PYTEST_ARGS ?= -n auto --dist loadfile
STAMP := $(VENV)/.installed

.PHONY: help setup demo test check format schemas lock chaos benchmarks sbom licences audit clean

help: ## Show the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

setup: $(STAMP) ## Set up .venv from the lock file

$(STAMP): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "$(PYTHON) was not found. Install Python 3.11, or name yours: make PYTHON=python3"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

demo: setup ## Build the sample knowledge base and answer five questions
	$(BIN)/lorebase build recipes/quickstart.yaml --workspace $(WORKSPACE)
	$(BIN)/lorebase search quickstart --questions examples/questions.json --top-k 2 --workspace $(WORKSPACE)
	$(BIN)/lorebase ask quickstart "预约了自习座位却迟到，座位会保留多久？" --workspace $(WORKSPACE)

test: setup ## Run the tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

chaos: setup ## Kill 500 builds (CHAOS_KILLS, CHAOS_SEED) and write benchmarks/chaos_result.md
	CHAOS_RESULT=benchmarks/chaos_result.md $(BIN)/python -m pytest tests/chaos -m long -s

check: setup ## Lint, types and architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schemas: setup ## Write the JSON schemas of docs/reference anew
	$(BIN)/python -m tests.runs.test_published_schemas

lock: ## Resolve the dependencies anew (needs uv)
	uv pip compile pyproject.toml --extra dev --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-markers --output-file requirements.lock --quiet

sbom: setup ## Write sbom.json (CycloneDX) from the lock file
	$(BIN)/python -W ignore -m cyclonedx_py requirements requirements.lock --pyproject pyproject.toml --output-reproducible --of JSON --output-file sbom.json
	@echo "sbom.json is written."

licences: setup ## Write docs/licences.md from installed metadata; fails on a licence that is not allowed
	$(BIN)/python infra/licences.py > docs/licences.md

audit: setup ## Look up known vulnerabilities of the locked packages; exit code 4 where nobody could be asked
	$(BIN)/python infra/audit.py

clean: ## Remove what the targets made
	rm -rf $(VENV) $(WORKSPACE)
