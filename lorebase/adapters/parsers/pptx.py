"""Presentations: a slide is a page; its title is a heading; texts, tables, charts and notes follow."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

import pptx
from pptx.chart.chart import Chart
from pptx.exc import PythonPptxError
from pptx.shapes.base import BaseShape
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.group import GroupShape
from pptx.slide import Slide
from pptx.table import Table
from pptx.text.text import TextFrame

from lorebase.adapters.parsers.office_containers import CONTAINER_FAULTS, check_container, xml_root
from lorebase.documents.building import DocumentBuilder
from lorebase.documents.unreadable import unreadable

_DRAWING_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"
_FAULTS: tuple[type[Exception], ...] = (PythonPptxError, *CONTAINER_FAULTS)


def read_pptx(content: bytes, builder: DocumentBuilder, *, name: str) -> None:
    """Add a presentation; a slide that cannot be read becomes a warning."""
    check_container(content, name=name)
    try:
        slides = list(pptx.Presentation(io.BytesIO(content)).slides)
    except _FAULTS as error:
        raise unreadable(name, "CORRUPT", f"no presentation can be made of it: {type(error).__name__}") from error
    for number, slide in enumerate(slides, start=1):
        builder.start_page(number)
        builder.headings.leave(1)
        try:
            _add_slide(slide, builder)
        except _FAULTS as error:
            builder.warn("PAGE_FAILED", f"Slide {number} cannot be read in full: {type(error).__name__}.")


def _add_slide(slide: Slide, builder: DocumentBuilder) -> None:
    title = slide.shapes.title
    if title is not None:
        builder.add_heading(title.text_frame.text, 1)
    for shape in _in_reading_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _add_shape(shape, builder)
    for relation in slide.part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/diagramData"):
            root = xml_root(relation.target_part.blob)
            builder.add_list([(0, "-", element.text or "") for element in root.iter(_DRAWING_TEXT)])
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None:
        builder.add_paragraph(notes.text)


def _in_reading_order(shapes: Iterable[BaseShape]) -> list[BaseShape]:
    """From top to bottom, then from left to right; shapes that inherit their place come first."""
    return sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0))


def _add_shape(shape: BaseShape, builder: DocumentBuilder) -> None:
    if isinstance(shape, GroupShape):
        for member in _in_reading_order(shape.shapes):
            _add_shape(member, builder)
    elif isinstance(shape, GraphicFrame):
        if shape.has_table:
            rows = list(_table_rows(shape.table))
            builder.add_table(rows, header_rows=1 if len(rows) > 1 else 0)
        elif shape.has_chart:
            _add_chart(shape.chart, builder)
    elif shape.has_text_frame:
        _add_text(shape.text_frame, builder, is_list=shape.is_placeholder)  # type: ignore[attr-defined]  # has_text_frame says so


def _add_text(frame: TextFrame, builder: DocumentBuilder, *, is_list: bool) -> None:
    paragraphs = [paragraph for paragraph in frame.paragraphs if paragraph.text.strip()]
    if len(paragraphs) > 1 and (is_list or any(paragraph.level for paragraph in paragraphs)):
        builder.add_list([(paragraph.level, "-", paragraph.text) for paragraph in paragraphs])
    else:
        builder.add_paragraph("\n".join(paragraph.text for paragraph in paragraphs))


def _table_rows(table: Table) -> Iterator[list[str]]:
    for row in table.rows:
        yield ["" if cell.is_spanned else cell.text for cell in row.cells]


def _add_chart(chart: Chart, builder: DocumentBuilder) -> None:
    if chart.has_title and chart.chart_title.has_text_frame:
        builder.add_paragraph(chart.chart_title.text_frame.text)
    for plot in chart.plots:
        series = list(plot.series)
        names = [str(category) for category in plot.categories]
        header = ["", *(one.name for one in series)]
        columns = [list(one.values) for one in series]
        rows = [
            [label, *(_number(column[index]) if index < len(column) else "" for column in columns)]
            for index, label in enumerate(names)
        ]
        builder.add_table([header, *rows], header_rows=1 if rows else 0)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}" if abs(value) < 1e6 else str(value)  # noqa: PLR2004 (:g keeps 6 digits)
