"""Errors that the author of a recipe or the owner of a document mends."""

from __future__ import annotations

from lorebase.errors.root import LorebaseError


class RecipeError(LorebaseError):
    """The recipe's author has to change something."""

    code = "RECIPE_ERROR"


class InvalidRecipeError(RecipeError):
    """A recipe has faults; `facts["faults"]` lists every one of them."""

    code = "INVALID_RECIPE"


class UnsupportedModeError(RecipeError):
    """A query mode was asked for that the snapshot cannot serve."""

    code = "UNSUPPORTED_MODE"


class SourceError(LorebaseError):
    """The owner of a document has to change something."""

    code = "SOURCE_ERROR"


class UnreadableDocumentError(SourceError):
    """A document yields no text. `facts["reason"]` is an UPPER_SNAKE reason such as ENCRYPTED or EMPTY."""

    code = "UNREADABLE_DOCUMENT"
