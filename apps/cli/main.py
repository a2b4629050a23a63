"""The command line `lorebase`. Commands import what they need when they run, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys

import typer

from apps.cli import exit_codes
from apps.cli.asking import ask
from apps.cli.blocks import blocks_app
from apps.cli.cards import cards
from apps.cli.doctor import doctor
from apps.cli.evaluating import evaluate
from apps.cli.governing import register_governance
from apps.cli.knowledge_bases import kb_app
from apps.cli.migrating import migrate
from apps.cli.observing import observed_command
from apps.cli.recipe_commands import build, plan, trigger, ui, validate
from apps.cli.search_commands import entities, graph, search
from apps.cli.serving import serve
from apps.cli.snapshot_commands import forget, gc, history, report, rollback, runs, status
from lorebase.errors import LorebaseError

app = typer.Typer(
    name="lorebase",
    help="Build, govern and search knowledge bases.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage or invalid recipe, 3 conflict, 4 a dependency is unavailable, "
    "5 a gate was not met, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    validate, plan, build, search, ask, status, runs, report, history, rollback, gc, forget,
    entities, graph, cards, doctor, migrate, serve, ui, trigger,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
app.command(name="eval")(evaluate)
app.add_typer(kb_app, name="kb")
app.add_typer(blocks_app, name="blocks")
register_governance(app)


def main() -> None:
    """Run the command line; errors become one message on stderr and an exit code."""
    wants_json = "--json" in sys.argv
    try:
        with observed_command(os.environ):
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
