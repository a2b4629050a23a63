"""Values out of a chat model's answers: tolerant reading, correction, and what never counts as an answer."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from lorebase.errors import DeclinedAnswerError, MalformedAnswerError, TruncatedAnswerError
from lorebase.models.call_ledger import CallLedger, LedgeredChat, MemoryObjects
from lorebase.models.chat import ChatReply, ChatRequest
from lorebase.models.ports import ModelUsage
from lorebase.models.structured import ask_structured
from lorebase.models.structured_json import json_candidates
from tests.fakes.scripted_chat import ScriptedChat

ASK = ChatRequest(prompt="Which person?", system="Extract.")


class Person(BaseModel):
    name: str
    age: int = 0


@pytest.mark.parametrize(
    "answer",
    [
        '{"name": "李伟", "age": 40}',
        '```json\n{"name": "李伟", "age": 40}\n```',
        'Sure, here it is:\n```\n{"name": "李伟", "age": 40}\n```\nAnything else?',
        '好的。结果如下: {"name": "李伟", "age": 40} 完毕。',
        '{"name": "李伟", "age": 40,}',
        "{'name': '李伟', 'age': 40}",
        '{name: "李伟", age: 40}',
        "{“name”: “李伟”, “age”: 40}",
        '{"name": "李伟", "age": 40} // done',
        '{"name": "李伟" "age": "40"}',
        '<think>Maybe {"name": "王芳"}?</think>{"name": "李伟", "age": 40}',
        'It is not {"note": "x"} but {"name": "李伟", "age": 40}.',
        '\ufeff{"name": "李伟", "age": 40}',
    ],
)
async def test_a_value_is_found_however_it_is_wrapped(answer: str):
    person, usage = await ask_structured(ScriptedChat([answer]), ASK, Person)

    assert person == Person(name="李伟", age=40)
    assert usage.calls == 1


@pytest.mark.parametrize(
    "answer",
    ["", "no idea", '{"name": "a"', '[{"name": "a"}, {"na', '{"name": "a}', "null", "42", '"text"', "{}", '{"age": 3}'],
)
async def test_what_is_no_such_value_is_asked_again_with_its_faults_and_then_reported(answer: str):
    """C38"""
    model = ScriptedChat([ChatReply(answer, ModelUsage(1, 10, 2))])

    with pytest.raises(MalformedAnswerError, match="in 3 attempts") as caught:
        await ask_structured(model, ASK, Person)

    assert model.calls == 3
    assert caught.value.facts["calls"] == 3
    assert caught.value.facts["input_tokens"] == 30
    assert "That answer cannot be read" in model.requests[2].messages[-1].text
    assert len(model.requests[2].messages) == 3
    assert not caught.value.retryable


async def test_a_corrected_answer_counts_and_all_attempts_are_paid():
    model = ScriptedChat(['{"name": 7}', '{"name": "a"}'])

    person, usage = await ask_structured(model, ASK, Person)

    assert person == Person(name="a")
    assert usage.calls == 2
    assert "name: Input should be a valid string" in model.requests[1].messages[-1].text


async def test_the_schema_goes_out_with_the_request():
    model = ScriptedChat(['[{"name": "a"}]'])

    people, _ = await ask_structured(model, ASK, list[Person])

    assert people == [Person(name="a")]
    assert model.requests[0].schema is not None
    assert model.requests[0].schema["type"] == "array"


async def test_a_truncated_answer_is_an_error_even_if_it_could_be_repaired_and_is_not_asked_again():
    """C43"""
    model = ScriptedChat([ChatReply.of('[{"name": "a"}]', ModelUsage(1, 5, 9), "max-tokens")])

    with pytest.raises(TruncatedAnswerError, match="before it was whole") as caught:
        await ask_structured(model, ASK, list[Person])

    assert model.calls == 1
    assert caught.value.facts["output_tokens"] == 9


async def test_a_declined_answer_is_not_asked_again():
    model = ScriptedChat([DeclinedAnswerError("The model declined.")])

    with pytest.raises(DeclinedAnswerError):
        await ask_structured(model, ASK, Person)

    assert model.calls == 1


async def test_a_malformed_answer_never_stays_in_the_ledger():
    """C38"""
    objects = MemoryObjects()
    model = ScriptedChat(["not at all"])

    with pytest.raises(MalformedAnswerError):
        await ask_structured(LedgeredChat(model, CallLedger(objects)), ASK, Person)
    good = ScriptedChat(['{"name": "a"}'])
    person, usage = await ask_structured(LedgeredChat(good, CallLedger(objects)), ASK, Person)

    assert person.name == "a"
    assert usage.calls == good.calls == 1


async def test_a_good_answer_got_by_asking_again_is_remembered_for_the_request():
    objects = MemoryObjects()
    model = ScriptedChat(["not at all", '{"name": "a"}'])

    await ask_structured(LedgeredChat(model, CallLedger(objects)), ASK, Person)
    person, usage = await ask_structured(LedgeredChat(model, CallLedger(objects)), ASK, Person)

    assert person.name == "a"
    assert usage == ModelUsage(cached_calls=1)
    assert model.calls == 2


async def test_a_damaged_value_that_was_kept_is_replaced():
    objects = MemoryObjects()
    other = LedgeredChat(ScriptedChat(["{'unfinished"]), CallLedger(objects))
    schema = Person.model_json_schema()
    await other.complete(ChatRequest(prompt=ASK.prompt, system=ASK.system, schema=schema))
    model = ScriptedChat(['{"name": "a"}'])

    person, usage = await ask_structured(LedgeredChat(model, CallLedger(objects)), ASK, Person)

    assert person.name == "a"
    assert (usage.calls, usage.cached_calls) == (1, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=st.lists(JSON, min_size=1, max_size=4) | st.dictionaries(st.text(), JSON, min_size=1, max_size=4))
def test_every_object_or_array_is_found_in_prose_and_never_in_a_prefix_of_itself(value: object):
    text = orjson.dumps(value).decode()

    in_prose = list(json_candidates(f"Here you are:\n\n{text}\n\nDone."))
    cut = list(json_candidates(text[:-1]))

    assert value in in_prose
    assert value not in cut


@given(text=st.text(alphabet='{}[]",:\\ab1 \n`<think>/'))
def test_any_text_is_read_without_an_error(text: str):
    assert all(isinstance(found, dict | list) for found in json_candidates(text))


async def test_deep_nesting_is_malformed_and_not_a_crash():
    model = ScriptedChat(["[" * 100_000 + "]" * 100_000])

    with pytest.raises(MalformedAnswerError):
        await ask_structured(model, ASK, Person, attempts=1)

    assert model.calls == 1
