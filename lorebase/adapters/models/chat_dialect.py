"""How an endpoint wants a chat request to be written: what it refused once, and took in another form, is remembered."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from lorebase.errors import RefusedError
from lorebase.models.chat import ChatProfile, ChatRequest
from lorebase.models.limiter import account_of
from lorebase.models.settings import EndpointConfig
from lorebase.models.strict_schema import strict_schema

AnswerForm = Literal["json_schema", "json_object", "plain"]
_NEXT_FORM: dict[AnswerForm, AnswerForm] = {"json_schema": "json_object", "json_object": "plain"}
_OF_THE_REQUEST = (400, 415, 422, 501)  # statuses that may be about a field; 401 and 403 never are
_NO_ROUTE = 404  # an unknown model, or a gateway none of whose providers takes the fields
_NO_ROUTE_FOR_FIELDS = re.compile(r"response_format|structured|parameters", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing requests.

    Attributes:
        form: How a schema is sent: enforced, as "answer in JSON", or only in words.
        limit_field: Name of the field for the longest answer.
        asks_for_usage: Whether a stream is asked for its usage.
    """

    form: AnswerForm = "json_schema"
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    asks_for_usage: bool = True

    def after(self, refusal: RefusedError, body: Mapping[str, Any]) -> Dialect | None:
        """The dialect to try after a refusal of a request; None where the refusal is about something else.

        A field that the endpoint names is left out. Where it names none, the form of the answer is lowered, because
        endpoints that do not know it say so in many ways.
        """
        said = str(refusal.facts.get("said", ""))
        if "max_tokens" in body and "max_completion_tokens" in said:
            return replace(self, limit_field="max_completion_tokens")
        status = refusal.facts.get("status")
        is_about_fields = status in _OF_THE_REQUEST or (status == _NO_ROUTE and _NO_ROUTE_FOR_FIELDS.search(said))
        if refusal.facts.get("fault") is not None or not is_about_fields:
            return None
        if "stream_options" in body and "stream_options" in said:
            return replace(self, asks_for_usage=False)
        if "response_format" in body:
            return replace(self, form=_NEXT_FORM[self.form])
        return None

    def body_of(self, request: ChatRequest, profile: ChatProfile, *, stream: bool) -> dict[str, Any]:
        """The request as JSON; only fields that are wanted stand in it, because many endpoints refuse the others."""
        system = request.system
        body: dict[str, Any] = {"model": profile.model}
        if request.schema is not None:
            if self.form != "json_schema":
                system = f"{system}\n\n{_in_words(request.schema)}".strip()
            if self.form != "plain":
                body["response_format"] = _response_format(self.form, request.schema)
        head = [{"role": "system", "content": system}] if system else []
        body["messages"] = head + [{"role": turn.role, "content": turn.text} for turn in request.turns]
        wanted = {
            "temperature": request.temperature if request.temperature is not None else profile.temperature,
            self.limit_field: request.max_tokens or profile.max_output_tokens,
            "seed": request.seed,
            "stop": list(request.stop) or None,
            "reasoning_effort": profile.reasoning_effort or None,
            "stream": stream or None,
            "stream_options": {"include_usage": True} if stream and self.asks_for_usage else None,
        }
        return body | {key: value for key, value in wanted.items() if value is not None}


def _response_format(form: AnswerForm, schema: Mapping[str, Any]) -> dict[str, Any]:
    if form == "json_object":
        return {"type": "json_object"}
    narrow = strict_schema(schema)
    enforced = {"name": "answer", "schema": dict(schema) if narrow is None else narrow, "strict": narrow is not None}
    return {"type": "json_schema", "json_schema": enforced}


def _in_words(schema: Mapping[str, Any]) -> str:
    text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS).decode()
    return f"Answer with nothing but one JSON value that follows this JSON schema:\n{text}"


class DialectMemory:
    """What was found out about a model of an endpoint, for the whole process.

    Args:
        config: The endpoint.
        model: The model; one gateway may serve models of many makers.
    """

    def __init__(self, config: EndpointConfig, model: str) -> None:
        self._key = (*account_of(config), model)

    @property
    def dialect(self) -> Dialect:
        """The one that was taken last."""
        with _LOCK:
            return _DIALECTS.get(self._key, Dialect())

    def remember(self, dialect: Dialect) -> None:
        """Begin with it from now on."""
        with _LOCK:
            _DIALECTS[self._key] = dialect


_DIALECTS: dict[tuple[str, str, str], Dialect] = {}
_LOCK = threading.Lock()
