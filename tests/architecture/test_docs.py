"""The documentation names files, pages, commands and recipes that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from apps.cli.main import app
from lorebase import errors
from lorebase.recipes.loading import parse_recipe

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "infra/**/*.md", "benchmarks/*.md", "examples/*.md")
    for page in ROOT.glob(pattern)
)
KEYS_OF_OTHER_FILES = {"trigger"}
"""Top-level keys of YAML that begins with `name:` and is no recipe: automations of Prefect."""

_FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^ {4}(\S[^\n]*)$", re.MULTILINE)
_INLINE = re.compile(r"`(lorebase [^`]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_PATH = re.compile(r"(?<![\w./-])(docs/[\w./-]+\.(?:md|json))\b")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_COMMAND_LINE = re.compile(r"^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?lorebase (.*)")
_WORD = re.compile(r"[a-z][a-z-]*")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    return _FENCE.sub("", text_of(page))


def anchors_of(page: Path) -> set[str]:
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(prose_of(page))}


def links_of(page: Path) -> Iterator[tuple[Path, str]]:
    """The files that a page links to, with the heading in them."""
    for target in _LINK.findall(prose_of(page)):
        if "://" not in target and not target.startswith("mailto:"):
            name, _, anchor = target.partition("#")
            yield ((page.parent / name).resolve() if name else page), anchor


def commands_of(page: Path) -> list[list[str]]:
    """The words after `lorebase` of every command that a page shows, in shell blocks and between back quotes."""
    text = text_of(page)
    shell = [
        block.replace("\\\n", " ") for kind, block in _FENCE.findall(text) if kind in {"", "console", "bash", "sh"}
    ]
    lines = [line for block in shell for line in block.splitlines()]
    lines += [*_INDENTED.findall(_FENCE.sub("", text)), *_INLINE.findall(_FENCE.sub("", text))]
    found = [match.group(1) for line in lines if (match := _COMMAND_LINE.match(line))]
    return [words for line in found if (words := words_of(line))]


def words_of(line: str) -> list[str]:
    """A command line in words, without its comment; nothing where the first word is no name of a command."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&>")
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set("|;&>"):
                break
            words.append(word)
    except ValueError:  # a quote that ends on another line: what stands before it is what can be checked
        pass
    return words if words and _WORD.fullmatch(words[0]) else []


@lru_cache
def command_line() -> Any:
    return typer.main.get_command(app)


def faults_of(words: list[str]) -> list[str]:
    """What the command line does not know of a command."""
    command = command_line()
    rest = list(words)
    while (commands := getattr(command, "commands", None)) and rest and _WORD.fullmatch(rest[0]):
        name = rest.pop(0)
        if name not in commands:
            return [f"no command {name!r} in {' '.join(words)!r}"]
        command = commands[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help",
        "-h",
    }
    given = {word.partition("=")[0] for word in rest if re.match(r"--[a-z]", word)}
    return [f"no option {option} of {' '.join(words)!r}" for option in sorted(given - known)]


def recipes_of(page: Path) -> list[str]:
    blocks = [block for kind, block in _FENCE.findall(text_of(page)) if kind == "yaml"]
    begun = [block for block in blocks if re.match(r"(?:#[^\n]*\n|\n)*name:", block)]
    return [block for block in begun if not KEYS_OF_OTHER_FILES & set(yaml.safe_load(block))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_and_every_named_page_is_there(page: Path) -> None:
    missing = [str(target) for target, _ in links_of(page) if not target.exists()]
    wrong_headings = [
        f"{target.name}#{anchor}"
        for target, anchor in links_of(page)
        if anchor and target.is_file() and anchor not in anchors_of(target)
    ]
    unknown_paths = [path for path in _PATH.findall(text_of(page)) if not (ROOT / path).exists()]

    assert (missing, wrong_headings, unknown_paths) == ([], [], [])


def test_every_page_of_the_docs_is_listed_in_the_index() -> None:
    listed = {target for target, _ in links_of(INDEX)}

    pages = {page for page in DOCS.rglob("*.md") if page != INDEX}

    assert len(pages) > 30
    assert sorted(str(page.relative_to(DOCS)) for page in pages - listed) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists_with_its_options(page: Path) -> None:
    faults = [fault for words in commands_of(page) for fault in faults_of(words)]

    assert faults == []


def test_commands_are_found_in_blocks_and_between_back_quotes() -> None:
    found = {words[0] for page in (ROOT / "README.md", DOCS / "how-to" / "govern.md") for words in commands_of(page)}

    assert {"build", "search", "serve", "release", "revision", "item"} <= found
    assert faults_of(["serch", "handbook"]) == ["no command 'serch' in 'serch handbook'"]
    assert faults_of(["kb", "crate", "handbook"]) == ["no command 'crate' in 'kb crate handbook'"]
    assert faults_of(["search", "handbook", "--fast"]) == ["no option --fast of 'search handbook --fast'"]


@pytest.mark.parametrize(
    ("page", "recipe"),
    [pytest.param(page, recipe, id=str(page.relative_to(ROOT))) for page in PAGES for recipe in recipes_of(page)],
)
def test_every_recipe_of_a_page_is_valid(page: Path, recipe: str) -> None:
    parsed = parse_recipe(recipe, name=page.name)

    parsed.validate()

    assert parsed.procedures


def test_the_drawing_of_the_error_tree_shows_every_class_below_its_parent() -> None:
    rows = re.findall(r"^([│├└─ ]*)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE)
    drawn: dict[str, str] = {}
    path: list[str] = []
    for indent, name in rows:
        depth = len(indent) // 4
        drawn[name] = path[depth - 1] if depth else ""
        path[depth:] = [name]
    kinds = [errors.LorebaseError]
    for kind in kinds:
        kinds += kind.__subclasses__()

    public = [kind for kind in kinds if kind.__module__.startswith("lorebase.errors")]  # others stay inside an adapter
    parents = {kind.__name__: kind.__base__.__name__ if kind is not errors.LorebaseError else "" for kind in public}  # type: ignore[union-attr]  # only object has no base

    assert drawn == parents
