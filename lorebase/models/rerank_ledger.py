"""A reranker whose orders are kept: the same question about the same texts is paid for once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import TypeAdapter

from lorebase.fingerprint import fingerprint
from lorebase.models.call_ledger import CallLedger
from lorebase.models.chat import ChatReply
from lorebase.models.chat_stream import STOP
from lorebase.models.ports import ModelUsage
from lorebase.models.rerank import RankedText, Reranker, best_of, checked_texts
from lorebase.models.settings import RerankModelSpec
from lorebase.models.token_estimate import estimate_tokens

_SCORES: TypeAdapter[dict[int, float]] = TypeAdapter(dict[int, float])
_FORM = 1  # of what is kept


class LedgeredReranker:
    """A reranker over a call ledger. The reranker is its owner's and is not closed.

    Args:
        reranker: Who judges what the ledger does not know.
        spec: What the recipe says of it: part of a call's identity.
        ledger: May be shared with chat models.
        tell: Is told what each call took: one call, and its tokens as estimated, because the services count by other
            units; or one cached call.
    """

    def __init__(
        self, reranker: Reranker, spec: RerankModelSpec, ledger: CallLedger, tell: Callable[[ModelUsage], None]
    ) -> None:
        self._reranker = reranker
        self._spec = spec
        self._ledger = ledger
        self._tell = tell

    @property
    def max_texts(self) -> int:
        """That of the reranker."""
        return self._reranker.max_texts

    async def rerank(self, query: str, texts: Sequence[str], top_k: int) -> list[RankedText]:
        """The kept order, or the reranker's; it is asked about all texts, whatever `top_k` is."""
        checked_texts(texts, top_k, self.max_texts)
        if not texts:
            return []
        shown = [text[: self._spec.max_chars_per_text] for text in texts]
        key = fingerprint("rerank-call", _FORM, self._spec.model_dump(mode="json"), query, shown)

        async def ask() -> ChatReply:
            ranked = await self._reranker.rerank(query, texts, len(texts))
            scores = _SCORES.dump_json({text.index: text.score for text in ranked}).decode()
            tokens = estimate_tokens(query) * len(shown) + sum(map(estimate_tokens, shown))
            reply = ChatReply.of(scores, ModelUsage(1, tokens), STOP)
            await self._ledger.keep(key, reply)
            return reply

        reply = await self._ledger.reply(key, ask)
        self._tell(reply.usage)
        scores = _SCORES.validate_json(reply.text)
        return best_of([RankedText(index, score) for index, score in scores.items()], top_k)

    async def close(self) -> None:
        """Nothing to give back."""
