"""Documents that chaos builds are made of, in two editions, and the recipe over them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from lorebase.adapters.object_stores import S3ObjectStore

BATCH_TEXTS = 6
"""Most texts in one request to the model."""

MAX_CONCURRENCY = 4
"""Most requests under way."""

TASK_RUN_WEIGHT = 24.0
"""Chunks a task run: the corpus gives each step several."""

BASE_NAME = "chaos"
DOCUMENTS = 60

RECIPE = f"""
name: {BASE_NAME}
sources: [{{folder: documents}}]
models: {{embedding: {{provider: fake, model: hashes, dimensions: 32, max_input_tokens: 512}}}}
partitions: 8
procedures:
  - name: index
    steps:
      - parse_documents: {{}}
      - split_documents: {{max_tokens: 60}}
      - embed_chunks: {{batch_texts: {BATCH_TEXTS}, retry: {{attempts: 3, delays_seconds: [0.05]}}}}
      - index_vectors: {{retry: {{attempts: 3, delays_seconds: [0.05]}}}}
      - index_full_text: {{retry: {{attempts: 3, delays_seconds: [0.05]}}}}
"""

QUERIES = ("how many crowns in edition two of the harbour rules", "灯塔的规定第几版")

_ENGLISH = [
    "harbour",
    "lamp",
    "pier",
    "berth",
    "crown",
    "ledger",
    "tide",
    "gull",
    "anchor",
    "rope",
    "beacon",
    "chart",
    "sailor",
    "oil",
    "wick",
    "fog",
    "bell",
]
_CHINESE = ["灯塔", "港口", "码头", "潮汐", "船员", "缆绳", "海图", "雾钟", "油灯", "泊位", "账簿", "海鸥"]


def write_corpus(folder: Path, edition: str) -> Path:
    """Write the recipe and its documents; two editions share two thirds of them. Returns the recipe's path."""
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for name, content in _documents(edition).items():
        (documents / name).write_bytes(content)
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


def write_workspace(folder: Path, endpoint_url: str, store: StoreAddress | None = None) -> None:
    """Write the workspace file: one fast endpoint, and the object store where it is not the folder itself."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"endpoints: {{fake: {{base_url: '{endpoint_url}', api_key: any, max_concurrency: {MAX_CONCURRENCY}}}}}",
    ]
    if store is not None:
        lines.append(
            f"object_store: {{url: '{store.url}', endpoint_url: '{store.endpoint_url}', "
            f"key: '{store.key}', secret: '{store.secret}'}}"
        )
    (folder / "lorebase.yaml").write_text("\n".join(lines), encoding="utf-8")


@dataclass(frozen=True)
class StoreAddress:
    """An S3 prefix."""

    url: str
    endpoint_url: str
    key: str
    secret: str


def store_at(bucket: StoreAddress, endpoint_url: str) -> S3ObjectStore:
    """The store of a prefix, asked at another address than its own."""
    place = urlsplit(bucket.url)
    return S3ObjectStore(place.netloc, place.path, endpoint_url=endpoint_url, key=bucket.key, secret=bucket.secret)


def _documents(edition: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for number in range(DOCUMENTS - 3):
        if edition != "one" and number % 12 == 5:
            continue  # left the source
        changes = number % 3 == 0
        said = edition if changes else "every"
        found[f"{number:03}.{_KINDS[number % len(_KINDS)]}"] = _document(number, said)
    if edition != "one":
        found |= {f"new {number}.md": _document(number, edition) for number in range(100, 105)}
    found["copy.md"] = found["000.md"]
    found["copy of the copy.md"] = found["000.md"]
    found["noise.txt"] = bytes(range(256)) * 4
    return found


_KINDS = ("md", "csv", "html", "md")


def _document(number: int, edition: str) -> bytes:
    chance = Random(f"{number} {edition}")
    kind = _KINDS[number % len(_KINDS)]
    if kind == "csv":
        rows = [f"{chance.choice(_ENGLISH)},{chance.randint(1, 99)},edition {edition} {number}" for _ in range(5)]
        return "\n".join(["berth,price,edition", *rows, ""]).encode()
    if kind == "html":
        paragraphs = "".join(f"<p>{_sentence(chance, number, edition)}</p>" for _ in range(2))
        return f"<html><body><h1>Harbour {number}</h1>{paragraphs}</body></html>".encode()
    parts = [f"## Part {part}\n\n{_sentence(chance, number, edition)}\n" for part in range(2)]
    return f"# Rules {number}\n\n{''.join(parts)}".encode()


def _sentence(chance: Random, number: int, edition: str) -> str:
    if number % 2:
        return (
            f"{''.join(chance.choices(_CHINESE, k=8))}的规定，{edition}版，第{number}号，{chance.randint(1, 10**6)}。"
        )
    words = " ".join(chance.choices(_ENGLISH, k=14))
    return f"The {words} costs {chance.randint(1, 10**6)} crowns in edition {edition} of rules {number}."
