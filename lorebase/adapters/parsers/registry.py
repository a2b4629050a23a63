"""The parsers of a workspace: the built-in engine, and docling where a recipe's rules ask for it."""

from __future__ import annotations

from collections.abc import Sequence

from lorebase.adapters.parsers.builtin import BuiltinParser
from lorebase.adapters.parsers.docling_serve import DoclingServeParser, DoclingServeSettings
from lorebase.documents.parsing import Parser, ParserRegistry, ParserRule
from lorebase.errors import ConfigurationError


def open_parsers(rules: Sequence[ParserRule], docling: DoclingServeSettings | None = None) -> ParserRegistry:
    """The registry for the rules of a recipe, with no engine that no rule names.

    Args:
        rules: Which engine reads which file types.
        docling: Where docling-serve is, if the workspace has one.

    Raises:
        InvalidRecipeError: A rule names an engine or a file type that there is not.
        ConfigurationError: A rule names docling, and the workspace has no docling-serve.
    """
    engines: list[Parser] = [BuiltinParser()]
    if any(rule.engine == DoclingServeParser.name for rule in rules):
        if docling is None:
            raise ConfigurationError(
                "The recipe's parser rules name the engine docling, and the workspace has no docling-serve.",
                remedy="Add `docling: {base_url: http://127.0.0.1:5001}` to the workspace file.",
            )
        engines.append(DoclingServeParser(docling))
    return ParserRegistry(engines, rules)
