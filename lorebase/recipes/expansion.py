"""From a recipe to the flat list of its steps, collecting every fault on the way."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from lorebase.recipes.model import KnowledgeRecipe, StepSpec
from lorebase.recipes.places import Fault, PathInRecipe
from lorebase.recipes.step_types import procedures, step_types
from lorebase.recipes.wording import listed, nearest
from lorebase.runs.step import Step


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step of a recipe, ready to run.

    Attributes:
        index: Its place among all steps, from 0.
        spec: What the recipe says.
        step: The step with its typed settings.
        path: Where it stands in the recipe.
    """

    index: int
    spec: StepSpec
    step: Step
    path: PathInRecipe

    @property
    def name(self) -> str:
        """The step's name in this recipe."""
        return self.spec.step_name


def expand(recipe: KnowledgeRecipe) -> tuple[list[PlannedStep], list[Fault]]:
    """All steps in declared order, with the faults that kept others out.

    A built-in procedure leaves out those of its steps whose artifact an earlier step of the recipe already makes with
    the same settings, so that two procedures over the same documents parse them once.
    """
    faults: list[Fault] = []
    planned: list[PlannedStep] = []
    for number, procedure in enumerate(recipe.procedures):
        path: PathInRecipe = ("procedures", number)
        if procedure.use:
            for spec in _built_in_steps(recipe, number, faults):
                step = _build(spec, (*path, "with"), faults)
                if step is not None and not _made_already(step, planned):
                    planned.append(PlannedStep(len(planned), spec, step, path))
            continue
        for place, spec in enumerate(procedure.steps):
            where = (*path, "steps", place, spec.type)
            step = _build(spec, where, faults)
            if step is not None:
                planned.append(PlannedStep(len(planned), spec, step, where))
    return planned, faults


def _built_in_steps(recipe: KnowledgeRecipe, number: int, faults: list[Fault]) -> list[StepSpec]:
    procedure = recipe.procedures[number]
    known = procedures()
    if procedure.use not in known:
        message = (
            f"There is no built-in procedure {procedure.use!r}.{nearest(procedure.use, known)} Known: {listed(known)}."
        )
        faults.append(Fault(("procedures", number, "use"), message))
        return []
    specs = [StepSpec.model_validate(entry) for entry in known[procedure.use]]
    types = step_types()
    for name in procedure.settings:
        takers = [place for place, spec in enumerate(specs) if name in types[spec.type].model_fields]
        if not takers:
            allowed = sorted({field for spec in specs for field in types[spec.type].model_fields})
            message = f"{procedure.use} has no setting {name!r}.{nearest(name, allowed)} Allowed: {listed(allowed)}."
            faults.append(Fault(("procedures", number, "with", name), message))
        for place in takers:
            merged = {**specs[place].settings, name: procedure.settings[name]}
            specs[place] = specs[place].model_copy(update={"settings": merged})
    return specs


def _build(spec: StepSpec, path: PathInRecipe, faults: list[Fault]) -> Step | None:
    types = step_types()
    if spec.type not in types:
        message = f"There is no step type {spec.type!r}.{nearest(spec.type, types)} Known: {listed(types)}."
        faults.append(Fault(path, message, spec.step_name))
        return None
    kind = types[spec.type]
    try:
        return kind.model_validate(spec.settings)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            place = detail["loc"]
            name = str(place[0]) if place else ""
            if detail["type"] == "extra_forbidden" and len(place) == 1:
                allowed = listed(kind.model_fields)
                message = (
                    f"{spec.step_name} has no setting {name!r}.{nearest(name, kind.model_fields)} Allowed: {allowed}."
                )
            else:
                given = detail["input"]
                where = ".".join(map(str, place)) or name
                message = f"{spec.step_name}: {where} = {given!r} is not allowed: {detail['msg']}."
            faults.append(Fault((*path, *place), message, spec.step_name))
        return None


def _made_already(step: Step, planned: list[PlannedStep]) -> bool:
    return any(known.step == step for known in planned)
