"""A part of a graph as one HTML page: a drawing and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from apps.cli.html_page import html_page
from lorebase.retrieval.graph_views import EntityView, GraphView, RelationView

_WIDTH = 1080
_RING_GAP = 190
_LABEL_CHARS = 24
_LEAST_RADIUS = 9
_COLOURS = ("#2f6db3", "#b3492f", "#3d8b4f", "#7d4fa8", "#a8862a", "#2f97a0", "#a83d72", "#5f6b7a")
_STYLE = """
svg { border: 1px solid var(--line); border-radius: 6px; }
svg .edge { stroke: var(--line); fill: none; }
svg .keyword { font-size: 10px; fill: var(--quiet); }
"""

_Point = tuple[float, float]


def graph_page(view: GraphView) -> str:
    """The page. Every text of the graph is escaped, and the page allows itself neither scripts nor requests."""
    centre = next((entity for entity in view.entities if entity.entity_id == view.centre), None)
    title = f"{centre.name} in {view.base_name}" if centre else f"Graph of {view.base_name}"
    body = [
        *(_about(centre) if centre else ()),
        _drawing(view),
        *_entity_table(view),
        *_relation_table(view),
    ]
    return html_page(title, body, style=_STYLE)


def _about(entity: EntityView) -> Iterator[str]:
    facts = f"{', '.join(entity.types)}; {entity.chunks} chunks in {entity.documents} documents"
    also = f"; also {', '.join(entity.aliases)}" if entity.aliases else ""
    yield f'<p class="quiet">{escape(facts + also)}</p>'
    for line in entity.description.splitlines():
        yield f"<p>{escape(line)}</p>"


def _drawing(view: GraphView) -> str:
    points, height = _places(view)
    marker = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#8a94a3"/></marker></defs>'
    )
    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="Graph">{marker}',
            *(_edge(relation, points) for relation in view.relations),
            *(
                _node(entity, points[entity.entity_id], is_centre=entity.entity_id == view.centre)
                for entity in view.entities
            ),
            "</svg>",
        ]
    )


def _places(view: GraphView) -> tuple[dict[str, _Point], float]:
    """Where each entity stands: on rings around the centre by its distance, neighbours of one community together."""
    rings: dict[int, list[EntityView]] = {}
    for entity in view.entities:
        rings.setdefault(entity.hops if view.centre else 1, []).append(entity)
    radius = {hops: max(_RING_GAP * hops, len(members) * 11) for hops, members in rings.items()}
    height = 2 * max(radius.values(), default=0) * 0.62 + 120
    points = {}
    for hops, members in rings.items():
        ordered = sorted(members, key=lambda entity: (entity.community, entity.name, entity.entity_id))
        across = min(radius[hops], _WIDTH / 2 - 110) if hops else 0
        for place, entity in enumerate(ordered):
            angle = 2 * math.pi * place / len(ordered) + hops * 0.35
            points[entity.entity_id] = (
                _WIDTH / 2 + across * math.cos(angle),
                height / 2 + radius[hops] * 0.62 * math.sin(angle),
            )
    return points, height


def _edge(relation: RelationView, points: dict[str, _Point]) -> str:
    (x1, y1), (x2, y2) = points[relation.source_id], points[relation.target_id]
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    x2, y2 = x2 - (x2 - x1) / length * 16, y2 - (y2 - y1) / length * 16
    width = min(1.0 + relation.weight / 2, 4.0)
    label = escape(_short(relation.name))
    return (
        f'<line class="edge" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width:.1f}" '
        f'marker-end="url(#arrow)"><title>{escape(_sentence(relation))}</title></line>'
        f'<text class="keyword" text-anchor="middle" x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2 - 3:.1f}">{label}</text>'
    )


def _node(entity: EntityView, point: _Point, *, is_centre: bool) -> str:
    radius = _LEAST_RADIUS + min(math.sqrt(entity.chunks) * 2, 14) + (4 if is_centre else 0)
    colour = _COLOURS[entity.community % len(_COLOURS)]
    about = f"{entity.name} ({', '.join(entity.types)})"
    return (
        f'<g><title>{escape(about)}</title><circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{radius:.1f}" '
        f'fill="{colour}"/><text text-anchor="middle" x="{point[0]:.1f}" y="{point[1] + radius + 13:.1f}">'
        f"{escape(_short(entity.name))}</text></g>"
    )


def _entity_table(view: GraphView) -> Iterator[str]:
    yield "<table><thead><tr><th>Entity</th><th>Types</th><th>Also</th><th>Chunks</th></tr></thead><tbody>"
    for entity in view.entities:
        cells = (entity.name, ", ".join(entity.types), ", ".join(entity.aliases), str(entity.chunks))
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    yield "</tbody></table>"


def _relation_table(view: GraphView) -> Iterator[str]:
    yield "<table><thead><tr><th>Relation</th><th>Evidence</th></tr></thead><tbody>"
    for relation in view.relations:
        told = "".join(
            f"<p><b>{escape(evidence.document)}</b> {escape(evidence.excerpt)}</p>" for evidence in relation.evidence
        )
        yield f"<tr><td>{escape(_sentence(relation))}</td><td>{told}</td></tr>"
    yield "</tbody></table>"


def _sentence(relation: RelationView) -> str:
    return f"{relation.source} — {relation.name} — {relation.target}"


def _short(text: str) -> str:
    return text if len(text) <= _LABEL_CHARS else f"{text[: _LABEL_CHARS - 1]}…"
