"""Text masters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorebase.errors import InvalidDefinitionError, MissingFieldError, UsageError
from lorebase.presentation.templates import TextTemplateErrors, TextTemplateOptions, define_text_template

PLACEHOLDER_LIKE = st.lists(
    st.sampled_from(["{{", "}}", "{", "}", "a", "b", "{{a}}", "{{b}}", "\\1", "$a", "%s", "你"])
).map("".join)


class AppError(Exception):
    pass


def test_values_are_put_into_every_place_of_their_field() -> None:
    """A-095."""
    template = define_text_template("{{name}}，您好！Dear {{name}}, {{text}}", TextTemplateOptions(["name", "text"]))

    assert template.fields == ("name", "text")
    assert template.render({"name": "王", "text": "welcome."}) == "王，您好！Dear 王, welcome."


def test_a_value_that_looks_like_a_placeholder_is_never_expanded() -> None:
    """A-095, A-108."""
    template = define_text_template("{{a}}|{{b}}", TextTemplateOptions(["a", "b"]))

    assert template.render({"a": "{{b}}", "b": "{{a}}{{secret}}"}) == "{{b}}|{{a}}{{secret}}"


@given(PLACEHOLDER_LIKE, PLACEHOLDER_LIKE)
def test_values_stand_in_the_result_as_they_were_given(a: str, b: str) -> None:
    """A-095, A-108."""
    template = define_text_template("<{{a}}>{{b}}<{{a}}>", TextTemplateOptions(["a", "b"]))

    assert template.render({"a": a, "b": b}) == "<" + a + ">" + b + "<" + a + ">"


def test_two_values_that_together_look_like_a_placeholder_are_not_expanded() -> None:
    """A-108."""
    template = define_text_template("{{a}}{{b}}", TextTemplateOptions(["a", "b"]))

    assert template.render({"a": "{{", "b": "a}}"}) == "{{a}}"


def test_an_empty_text_is_a_value() -> None:
    template = define_text_template("[{{a}}]", TextTemplateOptions(["a"]))

    assert template.render({"a": ""}) == "[]"


def test_a_field_without_a_value_is_an_error_that_names_it() -> None:
    """A-095."""
    template = define_text_template("{{a}}{{b}}", TextTemplateOptions(["a", "b"]))

    with pytest.raises(MissingFieldError, match="'b'") as raised:
        template.render({"a": "x"})

    assert raised.value.facts == {"field": "b"}


def test_the_program_may_make_the_error_of_a_missing_field() -> None:
    """A-095."""
    template = define_text_template("{{a}}", TextTemplateOptions(["a"], TextTemplateErrors(missing_field=AppError)))

    with pytest.raises(AppError, match=r"^a$"):
        template.render({})


def test_none_is_no_missing_value_but_a_value_of_a_wrong_type() -> None:
    template = define_text_template("{{a}}", TextTemplateOptions(["a"], TextTemplateErrors(missing_field=AppError)))

    with pytest.raises(UsageError, match="NoneType instead of a text"):
        template.render({"a": None})


def test_values_of_other_fields_are_not_looked_at() -> None:
    assert define_text_template("x", TextTemplateOptions([])).render({"other": "y"}) == "x"


def test_a_place_for_an_unknown_field_is_a_fault_of_the_definition() -> None:
    """A-095."""
    with pytest.raises(InvalidDefinitionError, match="unknown fields: c"):
        define_text_template("{{a}}{{c}}", TextTemplateOptions(["a"]))


@pytest.mark.parametrize("master", ["{{ a }}", "{{a", "{{}}", "{{1a}}", "{{a.b}}", "{{名}}", "{{{{a}}"])
def test_a_malformed_place_is_a_fault_of_the_definition(master: str) -> None:
    with pytest.raises(InvalidDefinitionError, match="begins no place"):
        define_text_template(master, TextTemplateOptions(["a"]))


def test_single_braces_are_plain_text() -> None:
    template = define_text_template('{"a": {"b": "{{a}}"}}', TextTemplateOptions(["a"]))

    assert template.render({"a": "1"}) == '{"a": {"b": "1"}}'
