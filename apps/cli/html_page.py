"""What the pages of this command line have in common: one file, no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from lorebase.errors import UsageError

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --quiet: #6b7685; --paper: #ffffff; --line: #c3cad4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --quiet: #9aa5b4; --paper: #14181e; --line: #465161; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
svg { width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
table { border-collapse: collapse; width: 100%; margin-top: 1rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
.quiet { color: var(--quiet); }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(title: str, body: Iterable[str], *, style: str = "") -> str:
    """A page that allows itself neither scripts nor requests.

    Args:
        title: Its title and first heading, as plain text.
        body: Lines of HTML below the heading, escaped by who made them.
        style: CSS beside that of all pages.
    """
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="und"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}{style}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *body,
            "</body></html>",
            "",
        ]
    )


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain texts."""
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return "\n".join(
        [f"<table><thead><tr>{heads}</tr></thead><tbody>", *(f"<tr>{line}</tr>" for line in lines), "</tbody></table>"]
    )


def write_html(file: Path, page: str) -> None:
    """Write a page.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The page {file} cannot be written: {error.strerror}.") from error
