"""The command line `lorebase`. Commands import what they need when they run, so that `--help` answers at once."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from apps.cli import exit_codes
from lorebase.errors import LorebaseError

if TYPE_CHECKING:
    from lorebase.workspace import Workspace

app = typer.Typer(
    name="lorebase",
    help="Build, govern and search knowledge bases.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or invalid recipe, 3 conflict, 4 a dependency is unavailable, "
    "5 a gate was not met, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Mode(StrEnum):
    """Query modes."""

    vector_search = "vector_search"
    full_text_search = "full_text_search"
    hybrid_search = "hybrid_search"


class ExecutorName(StrEnum):
    """Who runs the task runs of a build."""

    prefect = "prefect"
    inline = "inline"


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON alone on stdout; everything else goes to stderr.")]
WorkspaceFolder = Annotated[
    Path, typer.Option("--workspace", "-w", envvar="LOREBASE_WORKSPACE", help="Folder of the workspace.")
]
DEFAULT_WORKSPACE = Path(".lorebase")
RecipeFile = Annotated[Path, typer.Argument(help="Recipe file (YAML).", show_default=False)]
BaseName = Annotated[str, typer.Argument(help="Name of the knowledge base.", show_default=False)]


@app.command()
def validate(recipe: RecipeFile, as_json: AsJson = False) -> None:
    """Check a recipe: every fault at once, each with its place in the file."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from lorebase.recipes.loading import load_recipe  # noqa: PLC0415 (as above)
    from lorebase.recipes.validation import validated_steps  # noqa: PLC0415 (as above)
    from lorebase.runs.capabilities import capabilities_of  # noqa: PLC0415 (as above)

    loaded = load_recipe(recipe)
    steps = validated_steps(loaded)
    unlocked = capabilities_of(step.step.search_asset for step in steps if step.step.search_asset)
    if as_json:
        names = [step.name for step in steps]
        print_json({"valid": True, "name": loaded.name, "steps": names, "queries": unlocked.queries, "faults": []})
        return
    screen = console()
    screen.print(f"{recipe} is valid: {' -> '.join(step.name for step in steps)}.")
    screen.print(f"It unlocks {', '.join(unlocked.queries) or 'no query mode'}.")


@app.command()
def build(
    recipe: RecipeFile,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    executor: Annotated[
        ExecutorName, typer.Option(help="`prefect` runs the build as a Prefect flow, `inline` without Prefect.")
    ] = ExecutorName.prefect,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Do everything again, also what is finished.")] = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for another build of the base to end.")
    ] = 0.0,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on with other steps after a failed one.")
    ] = False,
) -> None:
    """Build a knowledge base, going on from its latest run."""
    from apps.cli.building import BuildRequest, build_recipe  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.output import console, print_json, show_report  # noqa: PLC0415 (as above)

    request = BuildRequest(
        recipe_file=recipe,
        workspace=workspace,
        rebuild=rebuild,
        wait_seconds=wait,
        stop_on_error=not keep_going,
        api_url=os.environ.get("PREFECT_API_URL"),
    )
    report = build_recipe(request, with_prefect=executor is ExecutorName.prefect, variables=os.environ)
    if as_json:
        print_json(report)
    show_report(report, console(stderr=as_json))
    if report.record.error is not None:
        raise typer.Exit(exit_codes.exit_code_of_error_code(report.record.error.code))
    if report.status != "succeeded":
        raise typer.Exit(exit_codes.FAILED)


@app.command()
def plan(
    recipe: RecipeFile,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Plan a build that does everything again.")] = False,
) -> None:
    """What a build would do and cost, without calling a model and without writing anything."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.planning import plan_recipe, show_plan  # noqa: PLC0415 (as above)

    found = plan_recipe(recipe, workspace, rebuild=rebuild, variables=os.environ)
    if as_json:
        print_json(found)
    show_plan(found, console(stderr=as_json))
    if found.error is not None:
        raise typer.Exit(exit_codes.exit_code_of_error_code(found.error.code))


@app.command()
def search(
    name: BaseName,
    query: Annotated[str, typer.Argument(help="What to search for.", show_default=False)] = "",
    mode: Annotated[Mode, typer.Option(help="Query mode.")] = Mode.hybrid_search,
    top_k: Annotated[int, typer.Option("--top-k", help="Most results, 1 to 100.")] = 5,
    questions: Annotated[
        Path | None, typer.Option(help="JSON file with a list of {question: ...}; each is searched for.")
    ] = None,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Search a knowledge base; every result says where it stands."""
    from apps.cli.output import console, print_json, show_results  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.searching import questions_of, search_base  # noqa: PLC0415 (as above)

    asked = questions_of(query, questions)
    found = asyncio.run(search_base(name, asked, mode.value, top_k, _opened(workspace)))
    if as_json:
        print_json(found[0] if questions is None else found)
        return
    for result in found:
        show_results(result, console())


@app.command()
def status(name: BaseName, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """What is live, what the latest run did, and who builds now."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.status import base_status  # noqa: PLC0415 (as above)

    found = base_status(name, _opened(workspace))
    if as_json:
        print_json(found)
        return
    for line in found.lines():
        console().print(line, markup=False)


@app.command()
def runs(name: BaseName, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """The runs of a knowledge base, oldest first."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.status import run_lines  # noqa: PLC0415 (as above)

    found = run_lines(name, _opened(workspace))
    if as_json:
        print_json(found)
        return
    for run in found:
        console().print(run.line(), markup=False)


@app.command()
def report(
    name: BaseName,
    run: Annotated[str, typer.Argument(help="Run id; the latest where none is given.")] = "",
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """The report of a run: steps, counts, issues, capabilities."""
    from apps.cli.output import console, print_json, show_report  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.status import report_of  # noqa: PLC0415 (as above)

    found = report_of(name, run, _opened(workspace))
    if as_json:
        print_json(found)
        return
    show_report(found, console())


@app.command()
def history(name: BaseName, as_json: AsJson = False, workspace: WorkspaceFolder = DEFAULT_WORKSPACE) -> None:
    """The snapshots of a knowledge base, newest first: what each changed, which is live, and how it came to be."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.snapshots import history_lines, history_of  # noqa: PLC0415 (as above)

    found = history_of(name, _opened(workspace))
    if as_json:
        print_json(found)
        return
    for line in history_lines(found):
        console().print(line, markup=False)


@app.command()
def rollback(
    name: BaseName,
    to: Annotated[str, typer.Option("--to", metavar="RUN", help="Snapshot, or the run that made it.")],
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Make an earlier snapshot live again, from stored artifacts alone."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.snapshots import rollback_lines, rolled_back  # noqa: PLC0415 (as above)

    result = asyncio.run(rolled_back(name, to, _opened(workspace)))
    if as_json:
        print_json(result)
        return
    for line in rollback_lines(result):
        console().print(line, markup=False)


@app.command()
def gc(
    name: BaseName,
    keep: Annotated[int, typer.Option(min=0, help="Last snapshots to keep, besides the live one.")] = 5,
    apply: Annotated[bool, typer.Option("--apply", help="Remove; without it only say what would be removed.")] = False,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
) -> None:
    """Remove what neither the kept snapshots nor the latest run need."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.snapshots import cleaned_up, cleaning_lines  # noqa: PLC0415 (as above)

    found = asyncio.run(cleaned_up(name, _opened(workspace), keep=keep, apply=apply))
    if as_json:
        print_json(found)
        return
    for line in cleaning_lines(found):
        console().print(line, markup=False)


@app.command()
def forget(
    name: BaseName,
    document: Annotated[str, typer.Argument(help="Id of the document, or its name in its source.", show_default=False)],
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    recipe: Annotated[
        Path | None, typer.Option(help="Recipe file: where to look whether the source still has the document.")
    ] = None,
) -> None:
    """Remove one document from every store and every kept snapshot, and print the counts that prove it."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's first sentence)
    from apps.cli.snapshots import forgotten, forgotten_lines  # noqa: PLC0415 (as above)

    answer = asyncio.run(forgotten(name, document, _opened(workspace), recipe))
    if as_json:
        print_json(answer)
    for line in forgotten_lines(answer):
        console(stderr=as_json).print(line, markup=False)
    if not answer.is_clean:
        raise typer.Exit(exit_codes.FAILED)


@app.command()
def ui(
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port; a free one where none is given.")] = None,
) -> None:
    """Keep the workspace's own Prefect server open, and print its address. Ctrl-C ends it."""
    from apps.cli.building import keep_server_open  # noqa: PLC0415 (see the module's first sentence)

    keep_server_open(workspace, port)


def _opened(folder: Path) -> Workspace:
    from lorebase.workspace import Workspace  # noqa: PLC0415 (see the module's first sentence)

    return Workspace.load(folder, os.environ)


def main() -> None:
    """Run the command line; errors become one message on stderr and an exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    wants_json = "--json" in sys.argv
    try:
        app()
    except LorebaseError as error:
        if wants_json:
            from apps.cli.output import print_json  # noqa: PLC0415 (see the module's first sentence)

            facts = {"code": error.code, "message": error.message, "remedy": error.remedy, "retryable": error.retryable}
            faults = {"faults": error.facts["faults"]} if "faults" in error.facts else {}
            print_json({"error": {**facts, **faults}})
        sys.stderr.write(f"lorebase: {error}\n")
        sys.exit(exit_codes.exit_code_of(error))
    except KeyboardInterrupt:
        sys.stderr.write("lorebase: interrupted. What is finished stays finished; start again to go on.\n")
        sys.exit(exit_codes.INTERRUPTED)


if __name__ == "__main__":
    main()
