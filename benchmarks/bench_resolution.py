"""Resolution of many entities without a model: time, memory, and how it grows.

Run: `python -m benchmarks.bench_resolution [--entities 10000]`. Names are made up: English and Chinese, in several
spellings, with namesakes, abbreviations, misspellings and long chains of look-alikes. Each size is measured as it is,
and with made-up vectors in which every other Chinese name is near an English one.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from itertools import pairwise
from random import Random

import numpy as np

from lorebase.extraction.graph_building import build_facts
from lorebase.extraction.graph_model import graph_of
from lorebase.extraction.mentions import ChunkEntities, ChunkRelations, EntityMention, RelationMention
from lorebase.extraction.name_vectors import NameCosines, NameSpace, name_vector_key
from lorebase.extraction.resolution import resolve
from lorebase.models.vectors import unit_rows

CHUNKS_A_DOCUMENT = 10
MENTIONS_A_CHUNK = 6
LIMIT_SECONDS = 60.0
LIMIT_ENTITIES = 10_000
DIMENSIONS = 512
NOISE = 0.3
COSINES = NameCosines(translation=0.8, abbreviation=0.6, margin=0.05)

_SYLLABLES = "ka lo mi ren tas vor bel qui dor fen gra hul jep nox".split()  # noqa: SIM905 (reads better than a list)
_CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳"
_TYPES = ("person", "organization", "place", "concept", "other")


def made_up_names(count: int, random: Random) -> list[str]:
    """That many different names, a third of them Chinese."""
    names: set[str] = set()
    while len(names) < count:
        if random.random() < 1 / 3:
            names.add("".join(random.choices(_CHARACTERS, k=random.randint(3, 6))))
        else:
            words = ["".join(random.choices(_SYLLABLES, k=random.randint(2, 4))).title() for _ in range(2)]
            names.add(" ".join(words))
    return sorted(names)


def spelt(name: str, random: Random) -> str:
    """The name in one of its spellings."""
    match random.randrange(8):
        case 0:
            return name.upper()
        case 1:
            return name.replace(" ", "-")
        case 2:
            return "".join(chr(ord(one) + 0xFEE0) if one.isascii() and one.isalpha() else one for one in name)
        case 3 if len(name) > 8:
            place = random.randrange(1, len(name) - 1)
            return name[:place] + name[place + 1 :]
        case _:
            return name


def made_up_base(entities: int, random: Random) -> tuple[list[ChunkEntities], list[ChunkRelations]]:
    """Chunks that name every entity several times."""
    names = made_up_names(entities, random)
    kinds = {name: random.choice(_TYPES) for name in names}
    chunks = entities // 2
    rows, stated = [], []
    for number in range(chunks):
        document, chunk = f"doc-{number // CHUNKS_A_DOCUMENT:06d}", f"chk-{number:06d}"
        picked = [names[(number * 2 + place) % entities] for place in range(2)]
        picked += random.sample(names, MENTIONS_A_CHUNK - 2)
        mentions = {
            written: EntityMention(written, kinds[name], aliases=(name[:3].upper(),) if random.random() < 0.05 else ())
            for name in picked
            for written in [spelt(name, random)]
        }
        rows.append(ChunkEntities("", chunk, document, "rules", tuple(mentions.values())))
        ordered = list(mentions)
        pairs = pairwise(ordered)
        relations = tuple(RelationMention(left, right, "works for", confidence=0.5) for left, right in pairs)
        stated.append(ChunkRelations("", chunk, document, "rules", relations))
    return rows, stated


def made_up_space(rows: list[ChunkEntities], seed: int) -> NameSpace:
    """A vector for every name that is written anywhere; every other Chinese one is beside that of an English one."""
    source = np.random.default_rng(seed)
    names = sorted({mention.name for row in rows for mention in row.entities})
    vectors = source.normal(size=(len(names), DIMENSIONS)).astype(np.float32)
    english = [place for place, name in enumerate(names) if name.isascii()]
    chinese = [place for place, name in enumerate(names) if name[0] in _CHARACTERS][::2]
    for left, right in zip(english, chinese, strict=False):
        vectors[right] = vectors[left] + NOISE * vectors[right]
    keys = [name_vector_key(name) for name in names]
    return NameSpace(dict(zip(keys, unit_rows(vectors), strict=True)), COSINES)


def measure(entities: int, seed: int, *, with_vectors: bool) -> dict[str, float]:
    """One run."""
    rows, stated = made_up_base(entities, Random(seed))
    space = made_up_space(rows, seed) if with_vectors else None
    started = time.perf_counter()
    found = resolve(rows, stated, space=space)
    resolved = time.perf_counter()
    built = build_facts(found.mentions, stated)
    graph = graph_of(built.facts)
    ended = time.perf_counter()
    return {
        "names_made_up": entities,
        "names_with_vector": len(space.vectors) if space else 0,
        "mentions": len(found.mentions),
        "entities": found.entities,
        "merges": found.merges,
        "merges_by_vector": len({one.merge_id for one in found.mentions if one.merge_reason == "translation"}),
        "relations": len(graph.relations),
        "resolution_seconds": round(resolved - started, 2),
        "graph_seconds": round(ended - resolved, 2),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """Measure two sizes and say whether the limit is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=LIMIT_ENTITIES)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    runs = [
        measure(count, options.seed, with_vectors=with_vectors)
        for with_vectors in (False, True)
        for count in (options.entities // 2, options.entities)
    ]
    print(json.dumps(runs, indent=2))
    allowed = LIMIT_SECONDS * max(options.entities / LIMIT_ENTITIES, 1.0)
    slowest = max(run["resolution_seconds"] for run in runs)
    kept = slowest <= allowed
    print(f"{slowest} s of {allowed:.0f} s allowed: {'kept' if kept else 'NOT kept'}")
    if not kept:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
