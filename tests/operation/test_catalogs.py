"""Read-only catalogs."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lorebase.errors import InvalidDefinitionError, UnknownIdError
from lorebase.operation.catalogs import ReadonlyCatalog, frozen


@dataclass
class Named:
    id: str


def test_definitions_are_found_by_id_in_the_order_of_registration() -> None:
    """A-008."""
    beta, alpha = Named("beta"), Named("alpha")

    catalog = ReadonlyCatalog("thing", [beta, alpha])

    assert (catalog.ids(), catalog.values()) == (("beta", "alpha"), (beta, alpha))
    assert (catalog.has("alpha"), catalog.get("alpha"), catalog.require("alpha")) == (True, alpha, alpha)
    assert (catalog.has("gamma"), catalog.get("gamma")) == (False, None)


def test_an_unknown_id_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UnknownIdError, match=r"no thing 'gamma'\. Known: beta, alpha\."):
        ReadonlyCatalog("thing", [Named("beta"), Named("alpha")]).require("gamma")


def test_a_catalog_does_not_follow_changes_of_what_it_was_made_of() -> None:
    definitions = [Named("a")]
    catalog = ReadonlyCatalog("thing", definitions)

    definitions[0].id = "z"
    definitions.append(Named("b"))

    assert catalog.ids() == ("a",)


@pytest.mark.parametrize("definition_id", ["", "  ", None, 3])
def test_blank_ids_are_refused(definition_id: object) -> None:
    with pytest.raises(InvalidDefinitionError, match="not blank"):
        ReadonlyCatalog("thing", [Named(definition_id)])  # type: ignore[arg-type]  # what an untyped caller gives


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6))
def test_exactly_lists_without_repeated_ids_are_registered(ids: list[str]) -> None:
    definitions = [Named(definition_id) for definition_id in ids]

    if len(set(ids)) == len(ids):
        assert ReadonlyCatalog("thing", definitions).ids() == tuple(ids)
    else:
        with pytest.raises(InvalidDefinitionError, match="two thing definitions"):
            ReadonlyCatalog("thing", definitions)


def test_what_is_frozen_cannot_be_changed_at_any_depth() -> None:
    value = {"limits": {"a": [1, {2}]}}

    kept = frozen(value)
    value["limits"]["a"].append(3)

    assert kept == {"limits": {"a": (1, frozenset({2}))}}
    with pytest.raises(TypeError):
        kept["limits"]["a"] = ()
