"""Why a document gives no text: the reasons, with the sentence and the remedy of each."""

from __future__ import annotations

from typing import Literal

from lorebase.errors import UnreadableDocumentError

Reason = Literal["ENCRYPTED", "CORRUPT", "EMPTY", "BINARY", "UNKNOWN_TYPE", "TOO_LARGE", "NO_TEXT"]

_SENTENCES: dict[Reason, tuple[str, str]] = {
    "ENCRYPTED": ("is protected by a password", "Save it without the password."),
    "CORRUPT": ("is damaged or not what its name says", "Open it in its own program and save it again."),
    "EMPTY": ("is empty", "Fill it or exclude it from the source."),
    "BINARY": ("holds binary data, no text", "Exclude it from the source, or correct its extension."),
    "UNKNOWN_TYPE": ("is of a type that no parser reads", "Convert it, or exclude it from the source."),
    "TOO_LARGE": ("is larger than the limit", "Split it, or raise the limit in the recipe."),
    "NO_TEXT": ("holds no text that can be read, only pictures perhaps", "Recognise its text (OCR) and save it again."),
}


def unreadable(name: str, reason: Reason, detail: str = "") -> UnreadableDocumentError:
    """The error for a document without text.

    Args:
        name: The document.
        reason: Which of the known reasons.
        detail: What exactly was seen; no sentence of its own, ends without a full stop.
    """
    sentence, remedy = _SENTENCES[reason]
    addition = f" ({detail})" if detail else ""
    return UnreadableDocumentError(
        f"Document {name!r} {sentence}{addition}.", remedy=remedy, document=name, reason=reason
    )


def too_large(name: str, size_bytes: int, max_bytes: int, what: str = "it has") -> UnreadableDocumentError:
    """The error for a document over a size limit (reason TOO_LARGE)."""
    return unreadable(name, "TOO_LARGE", f"{what} {size_bytes:,} bytes, {max_bytes:,} are allowed")
