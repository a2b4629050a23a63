"""The dictionary of tags."""

from __future__ import annotations

import pytest

from lorebase.errors import InvalidInputError, KeyTakenError, VersionConflictError
from tests.governance.world import AUTHOR, World


def test_a_tag_stands_once_and_is_free_again_after_its_deletion(world: World) -> None:
    """KX-06."""
    first = world.governance.tags.add(AUTHOR, " 差旅 ")

    with pytest.raises(KeyTakenError):
        world.governance.tags.add(AUTHOR, "差旅")
    world.governance.tags.delete(AUTHOR, first.id, version=0)
    second = world.governance.tags.add(AUTHOR, "差旅")

    assert (first.name, second.name) == ("差旅", "差旅")
    assert [tag.id for tag in world.governance.tags.list(AUTHOR).records] == [second.id]


def test_renaming_a_tag_alters_no_revision(world: World) -> None:
    """KQ-18."""
    tag = world.governance.tags.add(AUTHOR, "差旅")
    draft = world.draft()

    renamed = world.governance.tags.rename(AUTHOR, tag.id, "出差", version=0)

    assert (renamed.name, renamed.version) == ("出差", 1)
    assert world.read(draft).tags == ("差旅", "expenses")


def test_a_tag_is_not_renamed_to_another_or_from_an_old_version(world: World) -> None:
    first = world.governance.tags.add(AUTHOR, "a")
    world.governance.tags.add(AUTHOR, "b")

    with pytest.raises(KeyTakenError):
        world.governance.tags.rename(AUTHOR, first.id, "b", version=0)
    with pytest.raises(VersionConflictError):
        world.governance.tags.rename(AUTHOR, first.id, "c", version=4)

    assert [tag.name for tag in world.governance.tags.list(AUTHOR).records] == ["a", "b"]


@pytest.mark.parametrize("name", ["", "  ", "长" * 65, "a\x00"])
def test_a_tag_out_of_range_is_refused(world: World, name: str) -> None:
    with pytest.raises(InvalidInputError):
        world.governance.tags.add(AUTHOR, name)

    assert world.governance.tags.list(AUTHOR).total == 0


def test_equal_names_in_two_unicode_forms_are_one_tag(world: World) -> None:
    world.governance.tags.add(AUTHOR, "Re\u0301sume\u0301")

    with pytest.raises(KeyTakenError):
        world.governance.tags.add(AUTHOR, "Résumé")

    assert world.governance.tags.list(AUTHOR).total == 1
