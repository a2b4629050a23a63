"""Checks of a recipe's models: each is asked one short question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lorebase.artifacts.snapshots import SnapshotStore
from lorebase.artifacts.store import BaseLayout, ObjectStore
from lorebase.diagnosis.model import Finding
from lorebase.models.chat import ChatModel, ChatRequest
from lorebase.models.ports import Embedder
from lorebase.models.rerank import Reranker

PROBE_TEXT = "The heron stands in the marsh. 鹭站在沼泽里。"


async def check_embedder(embedder: Embedder, store: ObjectStore, base_name: str) -> Sequence[Finding]:
    """Whether the model gives vectors of the width that the recipe says, and those that the live snapshot holds."""
    try:
        batch = await embedder.embed_passages([PROBE_TEXT])
    finally:
        await embedder.close()
    profile = embedder.profile
    check, name = "model: embedding", f"{profile.provider}/{profile.model}"
    if batch.failures:
        first = batch.failures[0]
        return [Finding.unavailable(check, f"{name} gave no vector: {first.message}", "Look at the endpoint's log.")]
    width = int(batch.vectors.shape[1])
    if width != profile.dimensions:
        return [
            Finding.misconfigured(
                check,
                f"{name} gives {width} numbers, and the recipe says {profile.dimensions}.",
                f"Set dimensions: {width} in the recipe.",
                width=width,
            )
        ]
    live = await asyncio.to_thread(SnapshotStore(store, BaseLayout(base_name)).live)
    findings = [Finding.ok(check, f"{name} gives {width} numbers a text.", width=width)]
    if live is None or not live.embedding_profile_id:
        return findings
    if live.embedding_profile_id != profile.profile_id:
        said = f"the live snapshot was made by another model ({live.embedding_dimensions} numbers a text)."
        remedy = "Queries go on with that one; the next build embeds everything again."
        return [*findings, Finding.warning("model: embedding of the live snapshot", said, remedy)]
    return [*findings, Finding.ok("model: embedding of the live snapshot", "the same model and width.")]


async def check_chat(chat: ChatModel) -> Sequence[Finding]:
    """Whether the model answers one word."""
    name = f"{chat.profile.provider}/{chat.profile.model}"
    try:
        await chat.complete(ChatRequest(prompt="Answer with the one word: ready"))
    finally:
        await chat.close()
    return [Finding.ok("model: chat", f"{name} answers.")]


async def check_reranker(reranker: Reranker) -> Sequence[Finding]:
    """Whether the model orders two texts."""
    try:
        await reranker.rerank("heron", [PROBE_TEXT, "Fees of the harbour."], 2)
    finally:
        await reranker.close()
    return [Finding.ok("model: rerank", "it orders texts.")]
