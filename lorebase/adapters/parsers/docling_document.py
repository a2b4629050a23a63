"""The DoclingDocument format, as far as it is read here, and its way into blocks."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from lorebase.documents.building import DocumentBuilder, one_line

_SKIPPED_LABELS = ("page_header", "page_footer")
_LIST_LABELS = ("list_item", "checkbox_selected", "checkbox_unselected")
_INLINE_LABEL = "inline"
_MAX_DEPTH = 100


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Reference(_Part):
    """A JSON pointer such as "#/texts/3"."""

    ref: str = Field(alias="$ref")


class Provenance(_Part):
    """Where an item stands."""

    page_no: int


class Node(_Part):
    """What every item of the tree has."""

    children: tuple[Reference, ...] = ()
    label: str = ""
    prov: tuple[Provenance, ...] = ()
    content_layer: str = "body"


class Text(Node):
    """A heading, paragraph, list item, code or formula."""

    text: str = ""
    level: int = 1
    enumerated: bool = False
    marker: str = ""


class Cell(_Part):
    """A cell of a table; rows and columns from 0, ends exclusive."""

    text: str = ""
    start_row_offset_idx: int
    end_row_offset_idx: int
    start_col_offset_idx: int
    end_col_offset_idx: int
    column_header: bool = False


class TableData(_Part):
    """The cells of a table; a merged cell stands once."""

    table_cells: tuple[Cell, ...] = ()
    num_rows: int = 0
    num_cols: int = 0


class Table(Node):
    """A table."""

    data: TableData = TableData()
    captions: tuple[Reference, ...] = ()


class Picture(Node):
    """A picture; only its caption and what was recognised in it is text."""

    captions: tuple[Reference, ...] = ()


class DoclingDocument(_Part):
    """A document as docling writes it."""

    body: Node
    texts: tuple[Text, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    groups: tuple[Node, ...] = ()
    key_value_items: tuple[Node, ...] = ()
    form_items: tuple[Node, ...] = ()


class ConversionError(_Part):
    """Something that went wrong in part."""

    error_message: str = ""


class ConvertedDocument(_Part):
    """A document in the formats that were asked for."""

    json_content: DoclingDocument | None = None
    md_content: str | None = None


class DoclingAnswer(_Part):
    """The answer of docling-serve to one document."""

    document: ConvertedDocument
    status: str
    errors: tuple[ConversionError, ...] = ()


def add_docling_document(document: DoclingDocument, builder: DocumentBuilder) -> None:
    """Add a document's tree in reading order; running headers and footers are left out."""
    walk = _Walk(document, builder)
    walk.visit(document.body, 0)
    walk.flush_list()


class _Walk:
    def __init__(self, document: DoclingDocument, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._items: list[tuple[int, str, str]] = []
        self._seen: set[str] = set()
        self._page = 0
        self._nodes: dict[str, Node] = {
            f"#/{name}/{index}": node
            for name in ("texts", "tables", "pictures", "groups", "key_value_items", "form_items")
            for index, node in enumerate(getattr(document, name))
        }

    def visit(self, node: Node, list_depth: int) -> None:
        """Add what stands below a node, each item once."""
        for reference in node.children:
            child = self._nodes.get(reference.ref)
            if child is None or reference.ref in self._seen or list_depth > _MAX_DEPTH:
                continue
            self._seen.add(reference.ref)
            self._add(child, list_depth)

    def flush_list(self) -> None:
        """End the list that is being gathered."""
        if self._items:
            self._builder.add_list(self._items)
            self._items = []

    def _add(self, node: Node, list_depth: int) -> None:
        if node.content_layer == "furniture" or node.label in _SKIPPED_LABELS:
            return
        if node.prov:
            self._start_page(node.prov[0].page_no)
        if node.label == _INLINE_LABEL:
            self._add_paragraph(self._inline_text(node))
            return
        if isinstance(node, Text):
            self._add_text(node, list_depth)
        elif isinstance(node, Table):
            self.flush_list()
            self._add_captions(node.captions)
            self._add_table(node.data)
            # What stands below a table is the formatted form of its cells: the same text once more.
            return
        elif isinstance(node, Picture):
            self.flush_list()
            self._add_captions(node.captions)
        is_deeper = node.label in _LIST_LABELS
        self.visit(node, list_depth + 1 if is_deeper else list_depth)

    def _start_page(self, number: int) -> None:
        if self._page != number:
            self.flush_list()
            self._builder.start_page(number)
            self._page = number

    def _add_text(self, text: Text, list_depth: int) -> None:
        if text.label in _LIST_LABELS:
            marker = text.marker if text.enumerated and text.marker else "-"
            self._items.append((list_depth, marker, text.text or self._inline_text(text)))
            return
        self.flush_list()
        if text.label == "title":
            self._builder.add_heading(text.text, 0)
        elif text.label == "section_header":
            self._builder.add_heading(text.text, text.level)
        elif text.label == "code":
            self._builder.add_code(text.text)
        else:
            self._builder.add_paragraph(text.text)

    def _add_paragraph(self, text: str) -> None:
        self.flush_list()
        self._builder.add_paragraph(text)

    def _inline_text(self, node: Node) -> str:
        """Text of the pieces of one paragraph that differ in their formatting; they count as seen."""
        pieces = []
        for reference in node.children:
            child = self._nodes.get(reference.ref)
            if child is None or reference.ref in self._seen:
                continue
            if child.label == _INLINE_LABEL:
                self._seen.add(reference.ref)
                pieces.append(self._inline_text(child))
            elif isinstance(child, Text) and child.label not in _LIST_LABELS:
                self._seen.add(reference.ref)
                pieces.append(child.text)
        return one_line(" ".join(pieces))

    def _add_captions(self, captions: tuple[Reference, ...]) -> None:
        for reference in captions:
            caption = self._nodes.get(reference.ref)
            if isinstance(caption, Text) and reference.ref not in self._seen:
                self._seen.add(reference.ref)
                self._builder.add_paragraph(caption.text)

    def _add_table(self, data: TableData) -> None:
        rows = [[""] * data.num_cols for _ in range(data.num_rows)]
        header_rows = 0
        for cell in data.table_cells:
            if cell.start_row_offset_idx < data.num_rows and cell.start_col_offset_idx < data.num_cols:
                rows[cell.start_row_offset_idx][cell.start_col_offset_idx] = cell.text
                if cell.column_header:
                    header_rows = max(header_rows, cell.end_row_offset_idx)
        self._builder.add_table(rows, header_rows=header_rows)
