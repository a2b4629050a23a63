"""Commands about a recipe and its builds. They import what they need when they run."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from apps.cli import exit_codes
from apps.cli.governed import DEFAULT_ORGAN, Organ, User
from apps.cli.options import DEFAULT_WORKSPACE, AsJson, ExecutorName, RecipeFile, WorkspaceFolder


def validate(recipe: RecipeFile, as_json: AsJson = False) -> None:
    """Check a recipe: every fault at once, each with its place in the file."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from lorebase.recipes.loading import load_recipe  # noqa: PLC0415 (as above)
    from lorebase.recipes.validation import validated_steps  # noqa: PLC0415 (as above)
    from lorebase.runs.capabilities import capabilities_of  # noqa: PLC0415 (as above)

    loaded = load_recipe(recipe)
    steps = validated_steps(loaded)
    assets = [step.step.search_asset for step in steps if step.step.search_asset]
    unlocked = capabilities_of(assets, loaded.models.roles())
    if as_json:
        names = [step.name for step in steps]
        print_json({"valid": True, "name": loaded.name, "steps": names, "queries": unlocked.queries, "faults": []})
        return
    screen = console()
    screen.print(f"{recipe} is valid: {' -> '.join(step.name for step in steps)}.")
    screen.print(f"It unlocks {', '.join(unlocked.queries) or 'no query mode'}.")


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
    organ: Organ = DEFAULT_ORGAN,
    user: User = "",
) -> None:
    """Build a knowledge base, going on from its latest run. With `governance: reviewed` documents become drafts."""
    from apps.cli.building import BuildRequest, build_recipe  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.drafting import draft_recipe, is_governed, show_drafting  # noqa: PLC0415 (as above)
    from apps.cli.output import console, print_json, show_report  # noqa: PLC0415 (as above)

    if is_governed(recipe):
        show_drafting(draft_recipe(recipe, workspace, organ, user, os.environ), as_json=as_json)
        return
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


def plan(
    recipe: RecipeFile,
    as_json: AsJson = False,
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Plan a build that does everything again.")] = False,
) -> None:
    """What a build would do and cost, without calling a model and without writing anything."""
    from apps.cli.output import console, print_json  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.planning import plan_recipe, show_plan  # noqa: PLC0415 (as above)

    found = plan_recipe(recipe, workspace, rebuild=rebuild, variables=os.environ)
    if as_json:
        print_json(found)
    show_plan(found, console(stderr=as_json))
    if found.error is not None:
        raise typer.Exit(exit_codes.exit_code_of_error_code(found.error.code))


def ui(
    workspace: WorkspaceFolder = DEFAULT_WORKSPACE,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port; a free one where none is given.")] = None,
) -> None:
    """Keep the workspace's own Prefect server open, and print its address. Ctrl-C ends it."""
    from apps.cli.building import keep_server_open  # noqa: PLC0415 (see the module's second sentence)

    keep_server_open(workspace, port)


def trigger(
    deployment: Annotated[str, typer.Argument(help="FLOW/DEPLOYMENT, as `prefect deployment ls` lists them.")],
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", "-p", help="NAME=VALUE, laid over the deployment's own; options.mode=rebuild sets one value."
        ),
    ] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="The same key starts one run, however often it is sent: a commit's hash.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the run to its end, and exit with its outcome.")] = False,
    timeout: Annotated[
        float, typer.Option(min=1, help="Seconds to follow it; exit code 4 when it still runs then.")
    ] = 3600,
    as_json: AsJson = False,
) -> None:
    """Start a deployment's run over the Prefect API (PREFECT_API_URL), as CI does."""
    from apps.cli.output import console, print_json, show_triggered  # noqa: PLC0415 (see the module's second sentence)
    from apps.cli.triggering import DeploymentTrigger, PrefectApi, parsed_parameters  # noqa: PLC0415 (as above)

    started = DeploymentTrigger(PrefectApi.of(os.environ), tell=console(stderr=True).print).run(
        deployment,
        parsed_parameters(param or ()),
        idempotency_key=idempotency_key,
        wait_seconds=timeout if wait else None,
    )
    if as_json:
        print_json(started)
    else:
        show_triggered(started, console())
    raise typer.Exit(started.exit_code)
