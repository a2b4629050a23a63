"""Vectors of entity names: their artifact, and how near two names must be before anybody asks whether they are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lorebase.artifacts.kinds import ArtifactKind
from lorebase.extraction.resolution_forms import clean_name
from lorebase.fingerprint import fingerprint
from lorebase.models.ports import EmbeddingProfile


@dataclass(frozen=True, slots=True)
class NameVector:
    """The vector of a name that a document gives an entity. The name itself is not kept here.

    Attributes:
        key: The item of work that it answers: a digest of the name.
        document_id: A document that names it; each document has a row of its own, so that forgetting one takes nothing
            from the others.
        vector: float32, unit length.
    """

    key: str
    document_id: str
    vector: NDArray[np.float32]


def name_vector_key(name: str) -> str:
    """Key of a name's vector, whatever blanks and composition it is written with."""
    return fingerprint("entity-name", clean_name(name))


def _columns(rows: Sequence[NameVector]) -> list[Any]:
    return [
        [row.key for row in rows],
        [row.document_id for row in rows],
        [np.asarray(row.vector, dtype=np.float32).tobytes() for row in rows],
    ]


def _rows(table: pa.Table) -> list[NameVector]:
    """Rows that share a name share its vector: a name costs memory once, in however many documents it stands."""
    vectors: dict[str, NDArray[np.float32]] = {}
    rows = []
    for key, document_id, content in zip(*(table[name] for name in ("key", "document_id", "vector")), strict=True):
        name = key.as_py()
        if name not in vectors:
            vectors[name] = np.frombuffer(content.as_py(), dtype=np.float32)
        rows.append(NameVector(name, document_id.as_py(), vectors[name]))
    return rows


ENTITY_NAME_VECTORS: ArtifactKind[NameVector] = ArtifactKind(
    name="entity_name_vectors",
    schema=pa.schema([("key", pa.string()), ("document_id", pa.string()), ("vector", pa.binary())]),
    to_columns=_columns,
    to_rows=_rows,
    document_id=lambda row: row.document_id,
    item_key=lambda row: row.key,
)


@dataclass(frozen=True, slots=True)
class NameCosines:
    """From which cosine on two names are looked at; whether they are one, other evidence decides.

    Attributes:
        translation: Of two names in different scripts.
        abbreviation: Of a short name and a long one that has its letters.
        margin: By how much the nearest name must be nearer than the next one.
    """

    translation: float
    abbreviation: float
    margin: float


COSINES_OF_MODEL = {
    "universal-sentence-encoder-multilingual": NameCosines(translation=0.8, abbreviation=0.7, margin=0.05),
    "multilingual-e5-small": NameCosines(translation=0.91, abbreviation=0.94, margin=0.005),
}
"""Above every pair of different things of benchmarks/bench_names.py, whatever share of the right pairs that costs."""

COSINES_OF_OTHERS = NameCosines(translation=0.92, abbreviation=0.94, margin=0.02)
"""For models that nobody has measured here: few names pass."""


def cosines_for(profile: EmbeddingProfile, override: float | None = None) -> NameCosines:
    """The cosines of a model; `override` takes the place of those for translations and abbreviations."""
    measured = COSINES_OF_MODEL.get(profile.model, COSINES_OF_OTHERS)
    return measured if override is None else NameCosines(override, override, measured.margin)


@dataclass(frozen=True, slots=True)
class NameSpace:
    """Vectors of names by `name_vector_key`, and how near is near in their space."""

    vectors: dict[str, NDArray[np.float32]]
    cosines: NameCosines

    @classmethod
    def of(cls, rows: Iterable[NameVector], cosines: NameCosines) -> NameSpace:
        """One vector a name, the same whatever order the rows come in. Rows without direction are passed over."""
        vectors: dict[str, NDArray[np.float32]] = {}
        for row in rows:
            known = vectors.get(row.key)
            if known is row.vector or not row.vector.any():
                continue
            if known is None or row.vector.tobytes() < known.tobytes():
                vectors[row.key] = row.vector
        return cls(vectors, cosines)
