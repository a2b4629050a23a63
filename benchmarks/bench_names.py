"""From which cosine on names of entities are worth asking whether they are one: English and Chinese, and abbreviations.

    python -m benchmarks.bench_names [--model universal-sentence-encoder-multilingual] [--paragraphs 120] [--sent]

For a list of names in both languages, many of one kind, prints for each cosine how many right and how many wrong pairs
are each other's nearest by a margin, and how many wrong pairs there are at all: those would be found where the right
name does not occur. Then the cosines of abbreviations with what they stand for, and with what only has their
letters. `COSINES_OF_MODEL` of lorebase.extraction.name_vectors comes from these figures.

With `--paragraphs`, and LOREBASE_TEST_DATA set, also builds one base of so many XQuAD paragraphs in each language, its
graph by rules, and lists what vectors have joined, to be read by a person.

With `--sent`, and LOREBASE_TEST_DATA set, counts how many names of real bases `embed_names` sends, and compares what
vectors of those join with what vectors of all names do.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.bench_quality import read_xquad
from lorebase.adapters.models.local import LocalEmbedder
from lorebase.adapters.models.local_engines import LOCAL_MODELS
from lorebase.artifacts.kinds import ArtifactKind
from lorebase.artifacts.manifest import read_manifest, read_partition
from lorebase.artifacts.store import BaseLayout
from lorebase.extraction.kinds import ENTITY_MENTIONS, RELATION_MENTIONS
from lorebase.extraction.mentions import ChunkEntities, ChunkRelations
from lorebase.extraction.name_vectors import COSINES_OF_MODEL, NameSpace, name_vector_key
from lorebase.extraction.nearest import mutual_nearest
from lorebase.extraction.resolution import resolve
from lorebase.extraction.resolution_comparable import comparable_names
from lorebase.extraction.resolution_forms import clean_name
from lorebase.extraction.resolution_record import merges_of
from lorebase.knowledge_base import KnowledgeBase
from lorebase.recipes.loading import parse_recipe
from lorebase.workspace import Workspace

RowT = TypeVar("RowT")

RECIPE = """
name: both
sources: [{{folder: documents}}]
models: {{embedding: {{provider: local, model: {model}}}}}
procedures:
  - name: chunks
    steps: [{{parse_documents: {{}}}}, {{split_documents: {{max_tokens: 500}}}}]
  - use: knowledge_graph
    with: {{mode: rules}}
"""
MENTIONS = """
name: mentions
sources: [{folder: documents}]
procedures:
  - name: mentions
    steps:
      - parse_documents: {}
      - split_documents: {max_tokens: 500}
      - extract_entities: {mode: rules}
      - extract_relations: {mode: rules}
"""
BASES = {"xquad, English": ["en"], "xquad, Chinese": ["zh"], "xquad, both": ["en", "zh"], "documents": []}

TRANSLATIONS = (
    ("Berlin", "柏林"), ("Germany", "德国"), ("Paris", "巴黎"), ("London", "伦敦"), ("Munich", "慕尼黑"),
    ("Beijing", "北京"), ("Shanghai", "上海"), ("Tokyo", "东京"), ("New York", "纽约"), ("Washington", "华盛顿"),
    ("France", "法国"), ("South Korea", "韩国"), ("North Korea", "朝鲜"), ("United States", "美国"),
    ("United Kingdom", "英国"), ("Amazon River", "亚马逊河"), ("Pacific Ocean", "太平洋"),
    ("World Health Organization", "世界卫生组织"), ("United Nations", "联合国"), ("European Union", "欧盟"),
    ("Microsoft", "微软"), ("Apple", "苹果公司"), ("Huawei", "华为"), ("Siemens", "西门子"),
    ("Harvard University", "哈佛大学"), ("Peking University", "北京大学"), ("Tsinghua University", "清华大学"),
    ("Ministry of Finance", "财政部"), ("Ministry of Education", "教育部"), ("Central Bank", "中央银行"),
    ("machine learning", "机器学习"), ("deep learning", "深度学习"), ("knowledge graph", "知识图谱"),
    ("vector database", "向量数据库"), ("neural network", "神经网络"), ("photosynthesis", "光合作用"),
    ("oxygen", "氧气"), ("hydrogen", "氢气"), ("nitrogen", "氮气"), ("immune system", "免疫系统"),
    ("Angela Merkel", "安格拉·默克尔"),
    ("Barack Obama", "巴拉克·奥巴马"), ("Martin Luther", "马丁·路德"), ("Genghis Khan", "成吉思汗"),
    ("Nikola Tesla", "尼古拉·特斯拉"), ("Super Bowl", "超级碗"), ("Black Death", "黑死病"),
    ("French Revolution", "法国大革命"), ("World War II", "第二次世界大战"), ("World War I", "第一次世界大战"),
    ("Olympic Games", "奥运会"), ("Type A", "A型"), ("Type B", "B型"), ("left ventricle", "左心室"),
    ("right ventricle", "右心室"), ("Chief Executive Officer", "首席执行官"),
    ("Chief Financial Officer", "首席财务官"), ("annual report", "年度报告"), ("personal leave", "事假"),
    ("sick leave", "病假"), ("purchase contract", "采购合同"), ("sales contract", "销售合同"), ("Google", "谷歌"),
    ("Vienna", "维也纳"), ("Italy", "意大利"), ("Stanford University", "斯坦福大学"), ("Ministry of Defence", "国防部"),
    ("reinforcement learning", "强化学习"), ("graph database", "图数据库"), ("carbon dioxide", "二氧化碳"),
    ("maternity leave", "产假"), ("service contract", "服务合同"), ("Board of Directors", "董事会"),
    ("quarterly report", "季度报告"),
)  # fmt: skip
ABBREVIATIONS = (
    ("IBM", "International Business Machines"), ("WHO", "World Health Organization"), ("UN", "United Nations"),
    ("EU", "European Union"), ("CEO", "Chief Executive Officer"), ("AI", "artificial intelligence"),
    ("北大", "北京大学"), ("清华", "清华大学"), ("世卫组织", "世界卫生组织"), ("央行", "中央银行"),
)  # fmt: skip
SAME_LETTERS = (
    ("WHO", "Wharton Housing Office"), ("AMA", "Apple Merchants Alliance"), ("RAG", "Royal Art Gallery"),
    ("EU", "Eastern Union"), ("北大", "北方大厦"), ("世卫组织", "世纪卫星组织"), ("UN", "Urban Network"),
)  # fmt: skip


async def vectors_of(embedder: LocalEmbedder, names: list[str]) -> np.ndarray:
    """Rows of unit length."""
    return (await embedder.embed_passages(names)).vectors


async def measure(model: str) -> None:
    """Print both tables."""
    embedder = LocalEmbedder(LOCAL_MODELS[model])
    left, right = [await vectors_of(embedder, list(names)) for names in zip(*TRANSLATIONS, strict=True)]
    cosines = left @ right.T
    wrong = cosines[~np.eye(len(cosines), dtype=bool)]
    margin = COSINES_OF_MODEL[model].margin
    print(f"{len(TRANSLATIONS)} translations, margin {margin}; of wrong pairs the nearest has {wrong.max():.3f}")
    print("| cosine | right, mutual | wrong, mutual | wrong at all |\n|---|---|---|---|")
    for least in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.91, 0.92):
        found = mutual_nearest(left, right, least=least, margin=margin)
        rightly = sum(pair.left == pair.right for pair in found)
        print(f"| {least} | {rightly} | {len(found) - rightly} | {int((wrong >= least).sum())} |")
    for name, pairs in (("abbreviations", ABBREVIATIONS), ("same letters", SAME_LETTERS)):
        short, long = [await vectors_of(embedder, list(names)) for names in zip(*pairs, strict=True)]
        print(name, ", ".join(f"{value:.2f}" for value in sorted((short * long).sum(axis=1), reverse=True)))


@contextmanager
def folder_with(data: Path, languages: list[str], paragraphs: int | None) -> Iterator[Path]:
    """A folder whose `documents` are so many paragraphs a language; without one, the real documents."""
    with tempfile.TemporaryDirectory(prefix="bench-names-") as made:
        documents = Path(made) / "documents"
        if not languages:
            shutil.copytree(data / "documents", documents)
        for language in languages:
            documents.mkdir(exist_ok=True)
            texts, _ = read_xquad(data / "xquad" / f"xquad.{language}.json")
            for name, text in list(texts.items())[:paragraphs]:
                (documents / f"{language}-{name}").write_text(text, encoding="utf-8")
        yield Path(made)


async def list_merges(data: Path, paragraphs: int, model: str) -> None:
    """Print every merge of a base in both languages that vectors proposed."""
    with folder_with(data, ["en", "zh"], paragraphs) as folder:
        base = await KnowledgeBase.create(
            parse_recipe(RECIPE.format(model=model), folder=folder), Workspace(folder / "workspace")
        )
        merges = merges_of(base.workspace.object_store, base.snapshot())
        await base.close()
    found = [merge for merge in merges if merge.reason in {"translation", "abbreviation"}]
    print(f"{paragraphs} paragraphs a language: {len(found)} of {len(merges)} merges by vectors")
    for merge in found:
        print(f"{merge.reason} {merge.score:.2f}  {merge.name} = {merge.merged_with}")


async def mentions_of(data: Path, languages: list[str]) -> tuple[list[ChunkEntities], list[ChunkRelations]]:
    """What rules read in these documents."""
    with folder_with(data, languages, None) as folder:
        base = await KnowledgeBase.create(parse_recipe(MENTIONS, folder=folder), Workspace(folder / "workspace"))
        entities, relations = rows_of(base, ENTITY_MENTIONS), rows_of(base, RELATION_MENTIONS)
        await base.close()
    return entities, relations


def rows_of(base: KnowledgeBase, kind: ArtifactKind[RowT]) -> list[RowT]:
    """All rows of an artifact of what is live."""
    store, reference = base.workspace.object_store, base.snapshot().artifacts[kind.name]
    partitions = read_manifest(store, reference).partitions
    return [row for entry in partitions for row in read_partition(store, BaseLayout("mentions"), kind, entry)]


async def compare_sent(data: Path, model: str) -> None:
    """Print for each base how many names are sent, and what vectors join with them and with all names."""
    embedder = LocalEmbedder(LOCAL_MODELS[model])
    print("| base | chunks | names | sent | joined, all names | joined, names sent | the same |")
    print("|---|---|---|---|---|---|---|")
    for title, languages in BASES.items():
        entities, relations = await mentions_of(data, languages)
        names = sorted({clean_name(mention.name) for row in entities for mention in row.entities} - {""})
        sent = comparable_names(entities, relations)
        vectors = dict(zip(map(name_vector_key, names), await vectors_of(embedder, names), strict=True))
        of_sent = {key: vectors[key] for key in map(name_vector_key, sent)}
        joined = [joined_by_vectors(entities, relations, model, space) for space in (vectors, of_sent)]
        counts = f"{len(entities):,} | {len(names):,} | {len(sent):,} | {len(joined[0])} | {len(joined[1])}"
        print(f"| {title} | {counts} | {'yes' if joined[0] == joined[1] else 'NO'} |")


def joined_by_vectors(
    entities: list[ChunkEntities], relations: list[ChunkRelations], model: str, vectors: dict[str, np.ndarray]
) -> set[tuple[str, float]]:
    """Identity and cosine of every merge that only vectors have proposed."""
    found = resolve(entities, relations, space=NameSpace(vectors, COSINES_OF_MODEL[model]))
    by_vector = {"translation", "abbreviation"}
    return {(one.merge_id, one.merge_score) for one in found.mentions if one.merge_reason in by_vector}


def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="universal-sentence-encoder-multilingual", choices=sorted(COSINES_OF_MODEL))
    parser.add_argument("--paragraphs", type=int, default=0, help="of XQuAD in each language, for a base of its own")
    parser.add_argument("--sent", action="store_true", help="which names of real bases are sent, and what that changes")
    options = parser.parse_args()
    asyncio.run(measure(options.model))
    if not (options.paragraphs or options.sent):
        return
    data = os.environ.get("LOREBASE_TEST_DATA")
    if not data:
        sys.exit("Set LOREBASE_TEST_DATA to the folder that holds xquad/ and documents/.")
    if options.paragraphs:
        asyncio.run(list_merges(Path(data), options.paragraphs, options.model))
    if options.sent:
        asyncio.run(compare_sent(Path(data), options.model))


if __name__ == "__main__":
    main()
