"""Where the parts of a recipe stand in its file, and the error that lists every fault with its place."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from lorebase.errors import InvalidRecipeError

PathInRecipe = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a recipe.

    Attributes:
        path: Where it is, as keys and positions from the top.
        message: What is wrong and what would be right.
        step: Name of the step it belongs to; empty where it belongs to none.
    """

    path: PathInRecipe
    message: str
    step: str = ""


class Places:
    """Lines and columns of the nodes of a YAML text."""

    def __init__(self, name: str = "", node: yaml.Node | None = None) -> None:
        self._name = name
        self._node = node

    def __eq__(self, other: object) -> bool:
        """Where a recipe's parts stand is no part of what it says: all places are equal."""
        return isinstance(other, Places)

    def __hash__(self) -> int:
        return 0

    def describe(self, path: PathInRecipe) -> str:
        """`file, line 3, column 5` of the node at the path, or of the deepest part of it that exists."""
        if self._node is None:
            return ".".join(map(str, path)) or "recipe"
        node = self._node
        mark = node.start_mark
        for part in path:
            found = _child(node, part)
            if found is None:
                break
            mark, node = found
        return f"{self._name}, line {mark.line + 1}, column {mark.column + 1}"

    def line_of(self, path: PathInRecipe) -> int:
        """Line of the node at the path, for sorting."""
        node, line = self._node, 0
        for part in path:
            found = _child(node, part) if node is not None else None
            if found is None:
                break
            line, node = found[0].line, found[1]
        return line

    def repeated_keys(self) -> list[Fault]:
        """Keys that a mapping has twice: YAML would silently take the last."""
        faults: list[Fault] = []

        def walk(node: yaml.Node | None, path: PathInRecipe) -> None:
            if isinstance(node, yaml.MappingNode):
                seen: set[str] = set()
                for key, value in node.value:
                    if key.value in seen:
                        faults.append(Fault((*path, key.value), f"The key {key.value!r} stands twice."))
                    seen.add(key.value)
                    walk(value, (*path, key.value))
            elif isinstance(node, yaml.SequenceNode):
                for place, value in enumerate(node.value):
                    walk(value, (*path, place))

        walk(self._node, ())
        return faults


def _child(node: yaml.Node, part: str | int) -> tuple[yaml.Mark, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key.start_mark, value) for key, value in node.value if key.value == part), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark, node.value[part]
    return None


def invalid_recipe(places: Places, faults: list[Fault]) -> InvalidRecipeError:
    """One error for all faults, in the order of the file."""
    ordered = sorted(faults, key=lambda fault: places.line_of(fault.path))
    lines = [f"  - {places.describe(fault.path)}: {fault.message}" for fault in ordered]
    count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
    return InvalidRecipeError(
        f"The recipe has {count}:\n" + "\n".join(lines),
        faults=[
            {"place": places.describe(fault.path), "step": fault.step, "message": fault.message} for fault in ordered
        ],
    )
