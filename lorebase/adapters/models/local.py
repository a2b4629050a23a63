"""An embedder over a model that runs in this process: loaded when first needed, once, and never on the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from lorebase.adapters.models.local_engines import LocalEngine, LocalModel
from lorebase.models.inputs import empty_input, too_long
from lorebase.models.ports import EmbeddingBatch, EmbeddingFailure, EmbeddingProfile, ModelUsage
from lorebase.models.vectors import unit_rows

_SLICE_TEXTS = 32
_SLICE_CHARS = 32_768


class LocalEmbedder:
    """Embedder over one `LocalModel`. All embedders of a model in a process share its weights and its one thread.

    A call is worked off in slices of some hundred milliseconds, so that questions get their turn between the slices of
    a build, and so that a cancelled build stops after the slice that it is in.

    Args:
        model: What to run.
        min_score: Replaces the model's own calibrated one.
    """

    def __init__(self, model: LocalModel, *, min_score: float | None = None) -> None:
        profile = model.profile()
        self._profile = profile if min_score is None else replace(profile, min_score=min_score)
        self._runner = _runner_of(model)

    def __repr__(self) -> str:
        return f"LocalEmbedder({self._profile.model!r})"

    @property
    def profile(self) -> EmbeddingProfile:
        """The vector space it serves."""
        return self._profile

    @property
    def max_concurrency(self) -> int:
        """One: a model of this process works on one batch at a time."""
        return 1

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's own tokenizer. Loads the model the first time."""
        return self._runner.engine().count_tokens(text)

    async def embed_passages(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for texts; failures are EMPTY_INPUT and INPUT_TOO_LONG."""
        return await self._embed(texts, is_query=False)

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddingBatch:
        """Vectors for questions; failures as in `embed_passages`."""
        return await self._embed(texts, is_query=True)

    async def close(self) -> None:
        """Nothing to give back: the weights stay for the other embedders of the process."""

    async def _embed(self, texts: Sequence[str], *, is_query: bool) -> EmbeddingBatch:
        loop = asyncio.get_running_loop()
        vectors = np.zeros((len(texts), self._profile.dimensions), dtype=np.float32)
        failures: list[EmbeddingFailure] = []
        usage = ModelUsage()
        for start, end in _slices(texts):
            done = await loop.run_in_executor(
                self._runner.thread, self._embed_slice, tuple(texts[start:end]), start, is_query
            )
            vectors[start:end] = done.vectors
            failures.extend(done.failures)
            usage += done.usage
        return EmbeddingBatch(vectors, tuple(failures), usage)

    def _embed_slice(self, texts: Sequence[str], start: int, is_query: bool) -> EmbeddingBatch:  # noqa: FBT001 (run_in_executor passes by position)
        engine = self._runner.engine()
        limit = self._profile.max_input_tokens
        vectors = np.zeros((len(texts), self._profile.dimensions), dtype=np.float32)
        counts = [engine.count_tokens(text) if text.strip() else 0 for text in texts]
        failures = tuple(
            empty_input(start + position) if not tokens else too_long(start + position, tokens, limit)
            for position, tokens in enumerate(counts)
            if not 0 < tokens <= limit
        )
        good = [position for position, tokens in enumerate(counts) if 0 < tokens <= limit]
        if not good:
            return EmbeddingBatch(vectors, failures)
        vectors[good] = unit_rows(engine.embed([texts[position] for position in good], is_query=is_query))
        return EmbeddingBatch(vectors, failures, ModelUsage(1, sum(counts[position] for position in good)))


def _slices(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    chars = 0
    for position, text in enumerate(texts):
        if position > start and (position - start == _SLICE_TEXTS or chars + len(text) > _SLICE_CHARS):
            yield start, position
            start, chars = position, 0
        chars += len(text)
    if start < len(texts):
        yield start, len(texts)


@dataclass(slots=True)
class _Runner:
    """The weights of one model and the thread that computes with them."""

    model: LocalModel
    thread: ThreadPoolExecutor
    lock: threading.Lock
    loaded: LocalEngine | None = None

    def engine(self) -> LocalEngine:
        with self.lock:
            if self.loaded is None:
                self.loaded = self.model.load()
            return self.loaded


_RUNNERS: dict[str, _Runner] = {}
_RUNNERS_LOCK = threading.Lock()


def _runner_of(model: LocalModel) -> _Runner:
    with _RUNNERS_LOCK:
        if model.name not in _RUNNERS:
            thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"embed-{model.name}")
            _RUNNERS[model.name] = _Runner(model, thread, threading.Lock())
        return _RUNNERS[model.name]
