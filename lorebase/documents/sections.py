"""Runs of blocks that may share a chunk: those of one section and page, the headings above them included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lorebase.documents.model import Block, ParsedDocument


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document under one heading path, on one page.

    Attributes:
        start: First code point.
        end: One past the last one; sections follow each other without a gap.
        headings: The heading blocks at its beginning, outer ones first.
        bodies: The blocks below them; empty for headings with nothing below.
        heading_path: That of its bodies, or of its last heading.
    """

    start: int
    end: int
    headings: tuple[Block, ...]
    bodies: tuple[Block, ...]
    heading_path: tuple[str, ...]

    @property
    def first(self) -> Block:
        """The block that gives the section its page."""
        return (*self.headings, *self.bodies)[0]


def sections_of(parsed: ParsedDocument) -> list[Section]:
    """The sections of a document, in order; together they cover all of its text."""
    blocks = parsed.blocks or (Block("paragraph", 0, len(parsed.text)),)
    runs = list(_runs(blocks))
    starts = [0, *(run[0].start for run in runs[1:])]
    ends = [*starts[1:], len(parsed.text)]
    return [_section(run, start, end) for run, start, end in zip(runs, starts, ends, strict=True)]


def _runs(blocks: tuple[Block, ...]) -> Iterator[list[Block]]:
    """Headings are kept until it shows whether what follows stands below them."""
    run: list[Block] = []
    for block in blocks:
        if run and not _continues(run[-1], block):
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _continues(before: Block, block: Block) -> bool:
    if before.kind == "heading":
        depth = len(before.heading_path)
        return block.heading_path[:depth] == before.heading_path and _same_sheet(before, block)
    return block.kind != "heading" and _place(block) == _place(before)


def _same_sheet(before: Block, block: Block) -> bool:
    # A heading at the foot of a page goes with what follows on the next one; a sheet is a world of its own.
    return before.page_label == block.page_label


def _place(block: Block) -> tuple[object, ...]:
    return block.heading_path, block.page, block.page_label


def _section(run: list[Block], start: int, end: int) -> Section:
    first_body = next((index for index, block in enumerate(run) if block.kind != "heading"), len(run))
    return Section(start, end, tuple(run[:first_body]), tuple(run[first_body:]), run[-1].heading_path)
