"""The error tree."""

from __future__ import annotations

import pickle

from lorebase import errors


def all_errors() -> list[type[errors.LorebaseError]]:
    kinds = [errors.LorebaseError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return kinds


def test_every_error_survives_pickling_with_its_facts() -> None:
    for kind in all_errors():
        error = kind("It broke.", remedy="Mend it.", document="a.md", size=3)

        copy = pickle.loads(pickle.dumps(error))

        assert type(copy) is kind
        assert (str(copy), copy.facts) == ("It broke. Mend it.", {"document": "a.md", "size": 3})


def test_codes_are_unique() -> None:
    codes = [kind.code for kind in all_errors()]

    assert len(codes) == len(set(codes))
