"""Recipes: form, faults, round trip."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.errors import InvalidRecipeError, NotFoundError
from lorebase.recipes.loading import load_recipe, parse_recipe
from lorebase.recipes.model import KnowledgeRecipe, ProcedureSpec, SourceSpec
from lorebase.recipes.validation import validated_steps
from steps.parse_documents import ParseDocuments
from steps.procedures import HybridIndex
from steps.split_documents import SplitDocuments

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.yaml"))
GOOD = """
name: demo
sources: [{folder: docs}]
models: {embedding: {provider: local}}
procedures: [{use: hybrid_index}]
"""


def faults_of(text: str) -> list[str]:
    with pytest.raises(InvalidRecipeError) as caught:
        parse_recipe(text, name="r.yaml").validate()
    return [f"{fault['place']}: {fault['message']}" for fault in caught.value.facts["faults"]]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_of_the_project_is_valid_and_goes_to_yaml_and_back(path: Path) -> None:
    """BQ-01."""
    recipe = load_recipe(path)
    recipe.validate()

    again = parse_recipe(recipe.to_yaml(), folder=recipe.folder)

    assert again == recipe
    assert again.fingerprint == recipe.fingerprint


@given(
    partitions=st.integers(1, 4096),
    description=st.text(max_size=40),
    max_tokens=st.integers(16, 8192),
    exclude=st.lists(st.text(min_size=1, max_size=10), max_size=3),
)
def test_any_recipe_goes_to_yaml_and_back(
    partitions: int, description: str, max_tokens: int, exclude: list[str]
) -> None:
    recipe = KnowledgeRecipe(
        name="demo",
        description=description,
        sources=(SourceSpec(folder="docs", exclude=tuple(exclude)),),
        procedures=(ProcedureSpec(name="index", steps=(ParseDocuments(), SplitDocuments(max_tokens=max_tokens))),),
        partitions=partitions,
    )

    assert parse_recipe(recipe.to_yaml()) == recipe


def test_a_recipe_made_in_python_takes_steps_and_procedures_as_objects() -> None:
    recipe = KnowledgeRecipe(
        name="demo",
        sources=(SourceSpec(folder="docs"),),
        models={"embedding": {"provider": "local"}},
        procedures=(HybridIndex(max_tokens=120),),
    )

    steps = validated_steps(recipe)

    assert [step.name for step in steps] == [
        "parse_documents", "split_documents", "embed_chunks", "index_vectors", "index_full_text",
    ]  # fmt: skip
    assert steps[1].step == SplitDocuments(max_tokens=120)


def test_all_faults_are_reported_at_once_each_with_its_line() -> None:
    faults = faults_of(
        "name: demo\n"
        "procedures:\n"
        "  - name: index\n"
        "    steps:\n"
        "      - parse_docments: {}\n"
        "      - split_documents: {max_tokenz: 100}\n"
        "      - index_full_text: {}\n"
        "      - index_full_text: {}\n"
        "capabilities: [vector_serch]\n"
    )

    assert len(faults) == 5
    assert any("no sources" in fault for fault in faults)
    assert any(fault.startswith("r.yaml, line 5,") and "Did you mean 'parse_documents'?" in fault for fault in faults)
    assert any(fault.startswith("r.yaml, line 6,") and "Did you mean 'max_tokens'?" in fault for fault in faults)
    assert any(fault.startswith("r.yaml, line 8,") and "stands twice" in fault for fault in faults)
    assert any(fault.startswith("r.yaml, line 9,") and "Did you mean 'vector_search'?" in fault for fault in faults)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("name: demo", "name: Demo Base"), "is no slug"),
        (("sources: [{folder: docs}]", ""), "The recipe has no sources"),
        (("sources: [{folder: docs}]", "sourcs: [{folder: docs}]"), "Did you mean 'sources'?"),
        (("{folder: docs}", "{folder: docs}, {folder: docs}"), "Two sources are named 'docs'"),
        (("procedures: [{use: hybrid_index}]", ""), "The recipe has no steps"),
        (("hybrid_index", "hybird_index"), "Did you mean 'hybrid_index'?"),
        (("{use: hybrid_index}", "{use: hybrid_index, with: {max_tokns: 9}}"), "Did you mean 'max_tokens'?"),
        (("{use: hybrid_index}", "{use: hybrid_index, with: {max_tokens: 9}}"), "max_tokens = 9 is not allowed"),
        (("{use: hybrid_index}", "{use: hybrid_index, with: {overlap_tokens: 150}}"), "at most half of max_tokens"),
        (("models: {embedding: {provider: local}}", ""), "needs the model 'embedding'"),
        (("{use: hybrid_index}", "{use: full_text_index}"), "none of its steps uses one"),
        (("{use: hybrid_index}", "{name: x, steps: [{index_full_text: {}}]}"), "needs the artifact chunks"),
        (
            ("{use: hybrid_index}", "{name: x, steps: [{split_documents: {}}, {parse_documents: {}}]}"),
            "stands later: move it before 'split_documents'",
        ),
        (
            ("{use: hybrid_index}", "{use: hybrid_index}, {name: x, steps: [{split_documents: {name: again}}]}"),
            "both make the artifact chunks",
        ),
        (("procedures: [{use: hybrid_index}]", "procedures: [{use: hybrid_index}]\npartitions: 0"), "partitions"),
        (("{use: hybrid_index}", "{name: both, use: hybrid_index, steps: [{parse_documents: {}}]}"), "either `steps`"),
        (("name: demo", "name: demo\nname: other"), "The key 'name' stands twice"),
    ],
)
def test_a_fault_says_what_is_wrong_and_what_would_be_right(change: tuple[str, str], expected: str) -> None:
    faults = faults_of(GOOD.replace(*change))

    assert any(expected in fault for fault in faults), faults


def test_two_procedures_over_the_same_documents_parse_them_once() -> None:
    recipe = parse_recipe(GOOD.replace("[{use: hybrid_index}]", "[{use: vector_index}, {use: full_text_index}]"))

    names = [step.name for step in validated_steps(recipe)]

    assert names == ["parse_documents", "split_documents", "embed_chunks", "index_vectors", "index_full_text"]


def test_the_place_of_the_recipe_file_is_no_part_of_its_fingerprint(tmp_path: Path) -> None:
    assert parse_recipe(GOOD, folder=tmp_path).fingerprint == parse_recipe(GOOD).fingerprint


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\xfa", b"- a\n- b\n", b"just text", b""])
def test_what_is_no_recipe_is_refused_by_its_form(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_bytes(content)

    with pytest.raises(InvalidRecipeError):
        load_recipe(path)


def test_a_missing_recipe_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no recipe file .*absent\.yaml"):
        load_recipe(tmp_path / "absent.yaml")


def test_a_recipe_with_a_live_object_cannot_exist() -> None:
    """BQ-01."""
    with pytest.raises(InvalidRecipeError):
        parse_recipe(GOOD.replace("provider: local", "provider: !!python/object:object {}"))
