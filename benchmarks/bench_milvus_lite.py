"""What docs/adr/0004-embedded-milvus.md claims: speed of the embedded Milvus, and quality of analyzers and of fusion.

    python benchmarks/bench_milvus_lite.py vectors
    python benchmarks/bench_milvus_lite.py analyzers --data FOLDER     (FOLDER holds xquad/xquad.en.json and .zh.json)
    python benchmarks/bench_milvus_lite.py long-text --data FOLDER
    python benchmarks/bench_milvus_lite.py fusion --data FOLDER [--model NAME]

`vectors` also runs under milvus-lite 3.2.2: install that version, pymilvus, numpy and setuptools<81 in an environment
of its own and call it there with this checkout on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pymilvus import DataType, Function, FunctionType, MilvusClient

Floats: TypeAlias = NDArray[np.float32]

ROWS, DIMENSIONS, QUERIES, TIMEOUT = 10_000, 384, 30, 60
STEMMER = {"type": "stemmer", "language": "english"}
ANALYZERS: dict[str, dict[str, Any]] = {
    "standard, lowercase": {"tokenizer": "standard", "filter": ["lowercase"]},
    "english": {"type": "english"},
    "chinese": {"type": "chinese"},
    "jieba": {"tokenizer": "jieba"},
    "jieba, lowercase, stemmer": {"tokenizer": "jieba", "filter": ["lowercase", STEMMER]},
    "jieba, cnalphanumonly, lowercase, stemmer": {
        "tokenizer": "jieba",
        "filter": ["cnalphanumonly", "lowercase", STEMMER],
    },
}


@contextmanager
def opened(folder: str) -> Iterator[MilvusClient]:
    """A client of an embedded Milvus, whichever kind is installed."""
    database = Path(folder) / "bench.db"
    if version("milvus-lite").startswith("2."):
        from lorebase.adapters.milvus.embedded import EmbeddedMilvus  # noqa: PLC0415 (needs more than 3.x has)

        server = EmbeddedMilvus(database, lock_timeout_seconds=5, start_timeout_seconds=20)
        client = MilvusClient(server.start(), timeout=20, dedicated=True)
        yield client
        client.close()
        server.stop()
    else:
        yield MilvusClient(str(database), timeout=20)


def bench_vectors() -> None:
    vectors = np.random.default_rng(0).standard_normal((ROWS, DIMENSIONS)).astype(np.float32)
    print(f"milvus-lite {version('milvus-lite')}: {ROWS} x {DIMENSIONS}, k=20")
    kinds = ("FLAT", "IVF_FLAT", "AUTOINDEX") if version("milvus-lite").startswith("2.") else ("FLAT", "HNSW")
    with tempfile.TemporaryDirectory() as folder, opened(folder) as client:
        for kind in kinds:
            _make_vectors(client, kind)
            seconds = _timed(lambda kind=kind: _write_vectors(client, kind, vectors))
            print(f"  {kind}: upsert {ROWS / seconds:.0f} rows/s")
            exact = [set(np.argsort(-_cosines(vectors, query))[:20]) for query in vectors[:QUERIES]]
            for where in ("searchable == true", 'searchable == true and array_contains_any(tags, ["t1"])', ""):
                took, found = _search_all(client, kind, vectors[:QUERIES], where)
                recall = "" if where else f", recall of the exact 20: {_overlap(exact, found):.3f}"
                print(f"    {where or 'no filter'}: p50 {took * 1000:.1f} ms{recall}")


def _make_vectors(client: MilvusClient, kind: str) -> None:
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("chunk_id", DataType.VARCHAR, max_length=64, is_primary=True)
    schema.add_field("searchable", DataType.BOOL)
    schema.add_field("tags", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=32, max_length=256)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=DIMENSIONS)
    index = client.prepare_index_params()
    index.add_index("vector", index_type=kind, metric_type="COSINE", params={"nlist": 128} if "IVF" in kind else {})
    client.create_collection(kind, schema=schema, index_params=index, timeout=TIMEOUT)


def _write_vectors(client: MilvusClient, kind: str, vectors: Floats) -> None:
    for start in range(0, ROWS, 1000):
        rows = [
            {"chunk_id": str(at), "searchable": at % 10 != 0, "tags": [f"t{at % 5}"], "vector": vectors[at]}
            for at in range(start, start + 1000)
        ]
        client.upsert(kind, rows, timeout=TIMEOUT)


def _search_all(client: MilvusClient, kind: str, queries: Floats, where: str) -> tuple[float, list[set[int]]]:
    took, found = [], []
    for query in queries:
        started = time.perf_counter()
        hits = client.search(kind, data=[query], filter=where, limit=20, timeout=TIMEOUT)[0]
        took.append(time.perf_counter() - started)
        found.append({int(hit.id) for hit in hits})
    return statistics.median(took), found


def bench_analyzers(data: Path) -> None:
    from lorebase.index.words import passage_words, query_words  # noqa: PLC0415 (needs more than `vectors` does)

    print("analyzer: language, recall@5, MRR@10, rows/s written, ms a query")
    with tempfile.TemporaryDirectory() as folder, opened(folder) as client:
        for number, (name, analyzer) in enumerate(ANALYZERS.items()):
            for language in ("en", "zh"):
                figures = _judge(client, f"text_{number}_{language}", analyzer, *xquad(data, language))
                print(f"  {name}: {language} {figures}")
        for language in ("en", "zh"):
            texts, questions = xquad(data, language)
            started = time.perf_counter()
            passages = [" ".join(passage_words(text)) for text in texts]
            rows = len(texts) / (time.perf_counter() - started)
            asked = [(" ".join(query_words(text)), at) for text, at in questions]
            figures = _judge(client, f"ours_{language}", {"tokenizer": "whitespace"}, passages, asked)
            print(f"  lorebase.index.words: {language} {figures} (and {rows:.0f} rows/s to find the words)")


def _judge(
    client: MilvusClient, name: str, analyzer: dict[str, Any], texts: list[str], questions: list[tuple[str, int]]
) -> str:
    _make_text(client, name, analyzer)
    seconds = _timed(lambda: _write_text(client, name, texts))
    started = time.perf_counter()
    rankings = []
    for text, _ in questions:
        hits = client.search(name, data=[text], anns_field="words", limit=10, timeout=TIMEOUT)[0]
        rankings.append([int(hit.id) for hit in hits])
    query_ms = (time.perf_counter() - started) / len(questions) * 1000
    recall, rank = quality(rankings, [sought for _, sought in questions])
    return f"{recall:.4f} {rank:.4f} {len(texts) / seconds:.0f} {query_ms:.1f}"


async def bench_long_text(data: Path) -> None:
    """Rows of about 1,000 tokens: five English paragraphs, or 1,000 Chinese characters."""
    from lorebase.adapters.milvus import MilvusIndexStore  # noqa: PLC0415 (needs more than `vectors` does)
    from lorebase.index.ports import EntityFields, TextEntity, VectorEntity  # noqa: PLC0415 (as above)

    vector = np.full(DIMENSIONS, DIMENSIONS**-0.5, dtype=np.float32)
    for language in ("en", "zh"):
        joined = "\n".join(xquad(data, language)[0])
        chars = 4500 if language == "en" else 1000
        long = [joined[at * 101 % (len(joined) - chars) :][:chars] for at in range(1000)]
        fields = [EntityFields(f"c{at:05d}", "d", "r", "b") for at in range(len(long))]
        with tempfile.TemporaryDirectory() as folder:
            store = MilvusIndexStore.in_folder(Path(folder))
            started = time.perf_counter()
            await store.lexical("bench").upsert(list(map(TextEntity, fields, long)))
            between = time.perf_counter()
            await store.vectors("bench", "p" * 32, DIMENSIONS).upsert([VectorEntity(one, vector) for one in fields])
            ended = time.perf_counter()
            await store.close()
        print(
            f"{language}: {len(long) / (between - started):.0f} texts/s, {len(long) / (ended - between):.0f} vectors/s"
        )


def _make_text(client: MilvusClient, name: str, analyzer: dict[str, Any]) -> None:
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("chunk_id", DataType.VARCHAR, max_length=64, is_primary=True)
    schema.add_field("text", DataType.VARCHAR, max_length=65535, enable_analyzer=True, analyzer_params=analyzer)
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(Function("bm25", FunctionType.BM25, ["text"], ["words"]))
    index = client.prepare_index_params()
    index.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
    client.create_collection(name, schema=schema, index_params=index, timeout=TIMEOUT)


def _write_text(client: MilvusClient, name: str, texts: list[str]) -> None:
    client.upsert(name, [{"chunk_id": str(at), "text": text} for at, text in enumerate(texts)], timeout=TIMEOUT)


async def bench_fusion(data: Path, model: str) -> None:
    from lorebase.adapters.milvus import MilvusIndexStore  # noqa: PLC0415 (needs more than `vectors` does)
    from lorebase.adapters.models.local import LocalEmbedder  # noqa: PLC0415 (as above)
    from lorebase.adapters.models.local_engines import DEFAULT_LOCAL_MODEL, LOCAL_MODELS  # noqa: PLC0415 (as above)
    from lorebase.index.ports import EntityFields, TextEntity  # noqa: PLC0415 (as above)
    from lorebase.retrieval.fusion import reciprocal_rank_fusion  # noqa: PLC0415 (as above)

    embedder = LocalEmbedder(LOCAL_MODELS[model or DEFAULT_LOCAL_MODEL])
    print(f"{embedder.profile.model}: change of recall@5 and MRR@10 against the better of both parts")
    for language in ("en", "zh"):
        texts, questions = xquad(data, language)
        questions = questions[::2]
        passages = (await embedder.embed_passages(texts)).vectors
        queries = (await embedder.embed_queries([text for text, _ in questions])).vectors
        near = [[str(at) for at in np.argsort(-(passages @ query), kind="stable")[:40]] for query in queries]
        with tempfile.TemporaryDirectory() as folder:
            store = MilvusIndexStore.in_folder(Path(folder))
            index = store.lexical("bench")
            await index.upsert(
                [TextEntity(EntityFields(str(at), "d", "r", "b"), text) for at, text in enumerate(texts)]
            )
            words = [[found.chunk_id for found in await index.search(text, (), 40)] for text, _ in questions]
            await store.close()
        sought = [str(at) for _, at in questions]
        parts = quality(near, sought), quality(words, sought)
        print(
            f"  {language}: vector {parts[0][0]:.4f} {parts[0][1]:.4f}, full text {parts[1][0]:.4f} {parts[1][1]:.4f}"
        )
        for weight in (1.0, 2.0, 3.0, 4.0):
            for k in (10, 20, 60):
                fused = [
                    [key for key, _ in reciprocal_rank_fusion(pair, weights=(1.0, weight), k=k)]
                    for pair in zip(near, words, strict=True)
                ]
                changes = np.subtract(quality(fused, sought), np.max(parts, axis=0))
                print(f"    text weight {weight:g}, k {k}: {changes[0]:+.4f} {changes[1]:+.4f}")


def xquad(data: Path, language: str) -> tuple[list[str], list[tuple[str, int]]]:
    """Paragraphs, and questions with the number of the paragraph that answers them."""
    content = json.loads((data / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))
    paragraphs = [paragraph for article in content["data"] for paragraph in article["paragraphs"]]
    questions = [(qa["question"], at) for at, paragraph in enumerate(paragraphs) for qa in paragraph["qas"]]
    return [paragraph["context"] for paragraph in paragraphs], questions


def quality(rankings: list[list[Any]], sought: list[Any]) -> tuple[float, float]:
    """Recall@5 and MRR@10."""
    recalls = [key in ranking[:5] for ranking, key in zip(rankings, sought, strict=True)]
    ranks = [
        1 / (ranking.index(key) + 1) if key in ranking[:10] else 0.0
        for ranking, key in zip(rankings, sought, strict=True)
    ]
    return float(np.mean(recalls)), float(np.mean(ranks))


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _cosines(vectors: Floats, query: Floats) -> Floats:
    cosines: Floats = vectors @ query / np.linalg.norm(vectors, axis=1)
    return cosines


def _overlap(exact: list[set[int]], found: list[set[int]]) -> float:
    return statistics.mean(len(left & right) / len(left) for left, right in zip(exact, found, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("vectors", "analyzers", "long-text", "fusion"))
    parser.add_argument("--data", type=Path, help="folder that holds xquad/")
    parser.add_argument("--model", default="", help="local model; the default one where empty")
    options = parser.parse_args()
    if options.part == "vectors":
        bench_vectors()
    elif options.data is None:
        parser.error("--data is needed")
    elif options.part == "analyzers":
        bench_analyzers(options.data)
    elif options.part == "long-text":
        asyncio.run(bench_long_text(options.data))
    else:
        asyncio.run(bench_fusion(options.data, options.model))


if __name__ == "__main__":
    main()
