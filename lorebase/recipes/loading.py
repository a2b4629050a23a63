"""Reading recipes from YAML, so that every fault can name its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from lorebase.errors import InvalidRecipeError, NotFoundError
from lorebase.recipes.model import KnowledgeRecipe
from lorebase.recipes.places import Fault, PathInRecipe, Places, invalid_recipe
from lorebase.recipes.wording import listed, nearest

MAX_RECIPE_BYTES = 1024 * 1024


def load_recipe(path: Path | str) -> KnowledgeRecipe:
    """Read a recipe file; only its form is checked here.

    Raises:
        NotFoundError: There is no such file.
        InvalidRecipeError: It is no YAML, or not of a recipe's form; every fault is listed.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise NotFoundError(f"There is no recipe file {path}.", remedy="Name a YAML file.") from error
    if len(content) > MAX_RECIPE_BYTES:
        raise InvalidRecipeError(f"{path} has {len(content)} bytes; a recipe has at most {MAX_RECIPE_BYTES}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRecipeError(f"{path} is not UTF-8.", remedy="Save it as UTF-8.") from error
    return parse_recipe(text, folder=path.parent, name=str(path))


def parse_recipe(text: str, *, folder: Path = Path(), name: str = "recipe") -> KnowledgeRecipe:
    """Read a recipe from YAML text; relative sources start at `folder`.

    Raises:
        InvalidRecipeError: As `load_recipe`.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise InvalidRecipeError(f"{name}{where} is no YAML: {problem}.") from error
    places = Places(name, node)
    if not isinstance(data, dict):
        raise invalid_recipe(places, [Fault((), "A recipe is a mapping with `name`, `sources` and `procedures`.")])
    repeated = places.repeated_keys()
    try:
        recipe = KnowledgeRecipe.model_validate({**data, "folder": folder})
    except ValidationError as error:
        raise invalid_recipe(
            places, repeated + [_fault_of(detail) for detail in error.errors(include_url=False)]
        ) from error
    if repeated:
        raise invalid_recipe(places, repeated)
    recipe.remember_places(places)
    return recipe


def _fault_of(detail: Any) -> Fault:  # noqa: ANN401 (pydantic's ErrorDetails, whose keys are read here)
    place: PathInRecipe = tuple(detail["loc"])
    if detail["type"] == "extra_forbidden":
        model = _model_at(place[:-1])
        fields = [field.alias or name for name, field in model.model_fields.items() if name != "folder" or place[:-1]]
        key = str(place[-1])
        return Fault(place, f"There is no key {key!r} here.{nearest(key, fields)} Allowed: {listed(fields)}.")
    message = detail["msg"].removeprefix("Value error, ")
    shown = "" if isinstance(detail["input"], (dict, list)) else f" (given: {detail['input']!r})"
    return Fault(place, f"{'.'.join(map(str, place))}: {message}{shown}.")


def _model_at(path: PathInRecipe) -> Any:  # noqa: ANN401 (one of the recipe's model classes)
    """The model class whose field stands at a path of a recipe."""
    model: Any = KnowledgeRecipe
    for part in path:
        if isinstance(part, int):
            continue
        field = next((f for n, f in model.model_fields.items() if part in {n, f.alias}), None)
        inner = _model_in(field.annotation) if field else None
        if inner is None:
            return model
        model = inner
    return model


def _model_in(annotation: Any) -> Any:  # noqa: ANN401 (a type expression)
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((found for inner in getattr(annotation, "__args__", ()) if (found := _model_in(inner))), None)
