"""What recipes and workspaces may say about models."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from lorebase.models.settings import EmbeddingModelSpec, EndpointConfig


def test_a_recipe_that_says_nothing_means_the_local_default():
    assert EmbeddingModelSpec() == EmbeddingModelSpec(provider="local", model=None)


def test_an_unknown_key_is_refused():
    with pytest.raises(ValidationError, match="dimension"):
        EmbeddingModelSpec.model_validate({"provider": "local", "dimension": 384})


def test_an_api_key_is_neither_in_repr_nor_in_json():
    config = EndpointConfig.model_validate({"base_url": "https://models.example/v1/", "api_key": "sk-very-secret"})

    assert "very-secret" not in repr(config)
    assert "very-secret" not in config.model_dump_json()
    assert config.base_url == "https://models.example/v1"


def test_a_base_url_without_scheme_is_refused():
    with pytest.raises(ValidationError, match="must begin with http"):
        EndpointConfig(base_url="models.example/v1")


@pytest.mark.parametrize("model", [EmbeddingModelSpec, EndpointConfig])
def test_every_field_is_described(model: type[EmbeddingModelSpec | EndpointConfig]):
    assert [name for name, field in model.model_fields.items() if not field.description] == []
