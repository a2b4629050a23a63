"""Runtimes of bases: made once, from what the base configures, with what the host can do whenever it can."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lorebase.errors import ConfigurationError, NotFoundError
from lorebase.registry.base_changes import BaseChange
from lorebase.registry.changes import CardTypeChange
from lorebase.registry.content import BaseFolders
from lorebase.registry.file_store import FileRegistryStore
from lorebase.registry.record import BaseModels
from lorebase.registry.runtimes import RuntimeConfig, RuntimeOptions, RuntimeSettings
from lorebase.registry.service import KnowledgeBases
from tests.registry.opening import SteppingClock


@dataclass
class Machine:
    """A runtime that keeps what it was made from."""

    settings: RuntimeSettings[str] | None


@dataclass
class Desk:
    """A host whose model comes late."""

    model: str | None = None
    made: list[str] = field(default_factory=list)

    def make(self, settings: RuntimeSettings[str]) -> Machine:
        self.made.append(settings.base_id)
        return Machine(settings)


Bases = KnowledgeBases[Machine, str]


def bases_of(store: FileRegistryStore, options: RuntimeOptions[Machine, str], root: Path | None = None) -> Bases:
    folders = BaseFolders(root) if root else None
    made: Bases = KnowledgeBases(store, clock=SteppingClock(), folders=folders, runtimes=options)
    made.ensure_default()
    made.create("a")
    return made


def settings_of(bases: Bases, base_id: str) -> RuntimeSettings[str]:
    settings = bases.runtime_of(base_id).settings
    assert settings is not None
    return settings


def test_a_runtime_is_made_once_for_each_base(store: FileRegistryStore) -> None:
    """D-012."""
    desk = Desk()
    bases = bases_of(store, RuntimeOptions(make=desk.make))

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: bases.runtime_of("a"), range(16)))

    assert len({id(machine) for machine in made}) == 1
    assert desk.made == ["a"]


def test_the_default_base_takes_the_runtime_that_the_host_has(store: FileRegistryStore) -> None:
    """D-008, D-012."""
    desk, own = Desk(), Machine(None)
    bases = bases_of(store, RuntimeOptions(make=desk.make, default_runtime=lambda: own))

    assert bases.runtime_of("default") is own
    assert bases.runtime_of("a") is not own
    assert desk.made == ["a"]


def test_the_hosts_settings_reach_every_base_but_the_default_one(store: FileRegistryStore, tmp_path: Path) -> None:
    """D-009."""
    config = RuntimeConfig(models=BaseModels(chat="main/qwen"), top_k=7)
    options = RuntimeOptions(make=Desk().make, config=lambda: config, agent_root=lambda: tmp_path)
    bases = bases_of(store, options, tmp_path)

    assert settings_of(bases, "a").config == config
    assert settings_of(bases, "default").config is None
    assert settings_of(bases, "a").root_dir == tmp_path / "domain_knowledge" / "a"
    assert settings_of(bases, "a").memory_root == tmp_path / "memory" / "a"


def test_without_an_agents_root_memory_lies_in_the_tree(store: FileRegistryStore, tmp_path: Path) -> None:
    """D-014."""
    bases = bases_of(store, RuntimeOptions(make=Desk().make))
    bases.update("a", BaseChange(root_dir=str(tmp_path / "tree")))

    assert settings_of(bases, "a").memory_root == tmp_path / "tree" / "04_memory"


def test_a_runtime_sees_types_that_are_changed_after_it_was_made(store: FileRegistryStore) -> None:
    """D-013."""
    bases = bases_of(store, RuntimeOptions(make=Desk().make))
    settings = settings_of(bases, "a")

    bases.card_types.update("a", CardTypeChange(id="faq", label="问答"))

    assert "问答" in [known.label for known in settings.card_types()]
    assert len(settings.source_types()) == 8


def test_what_the_host_can_do_reaches_every_base_also_when_it_comes_late(store: FileRegistryStore) -> None:
    """D-010, D-013, D-015."""
    desk = Desk()
    bases = bases_of(store, RuntimeOptions(make=desk.make, host=lambda: desk.model))
    early = settings_of(bases, "a")
    before = early.host()

    desk.model = "chat"
    bases.create("b")

    assert before is None
    assert [settings.host() for settings in (early, settings_of(bases, "b"), settings_of(bases, "default"))] == [
        "chat", "chat", "chat",
    ]  # fmt: skip


def test_a_deleted_base_has_no_runtime_and_one_of_its_name_gets_a_new_one(store: FileRegistryStore) -> None:
    bases = bases_of(store, RuntimeOptions(make=Desk().make))
    before = bases.runtime_of("a")

    bases.delete("a")

    with pytest.raises(NotFoundError, match="'a'"):
        bases.runtime_of("a")
    bases.create("a")
    assert bases.runtime_of("a") is not before


def test_a_base_that_could_not_be_made_is_tried_again(store: FileRegistryStore) -> None:
    bases = bases_of(store, RuntimeOptions(make=Desk().make))

    with pytest.raises(NotFoundError):
        bases.runtime_of("b")
    bases.create("b")

    assert settings_of(bases, "b").base_id == "b"


def test_a_registry_without_runtimes_says_so(bases: KnowledgeBases[None, None]) -> None:
    with pytest.raises(ConfigurationError, match="how runtimes are made"):
        bases.runtime_of("a")
