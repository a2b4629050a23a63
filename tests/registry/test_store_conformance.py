"""What every store of the registry does alike: the file, and the databases."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings

from lorebase.registry.base_changes import BaseChange
from lorebase.registry.stores import Change, RegistryStore
from tests.registry.anything import entries
from tests.registry.opening import counted_up, opened

OpenStore = Callable[[], RegistryStore]


def test_a_new_registry_is_empty(open_store: OpenStore) -> None:
    store = open_store()

    assert store.read_all().by_id == {}
    assert store.read_one("handbook").by_id == {}


def test_what_was_inserted_is_there_for_another_program(open_store: OpenStore) -> None:
    open_store().insert("b", {"id": "b", "name": "企业知识库 😀", "description": "a\x00b 'quoted' \\"})
    open_store().insert("a", {"id": "a"})

    read = open_store().read_all().by_id

    assert list(read) == ["a", "b"]
    assert read["b"] == {"id": "b", "name": "企业知识库 😀", "description": "a\x00b 'quoted' \\"}


def test_an_id_is_given_once(open_store: OpenStore) -> None:
    store = open_store()
    store.insert("a", {"id": "a", "name": "first"})

    again = store.insert("a", {"id": "a", "name": "second"})

    assert not again
    assert store.read_one("a").by_id == {"a": {"id": "a", "name": "first"}}


def test_a_revision_is_stored_and_its_result_returned(open_store: OpenStore) -> None:
    store = open_store()
    store.insert("a", {"id": "a", "n": 1})

    result = store.change("a", lambda data: Change("done", {**data, "n": 2}))

    assert result == "done"
    assert open_store().read_one("a").by_id["a"]["n"] == 2


def test_a_revision_without_data_leaves_the_base_as_it_is(open_store: OpenStore) -> None:
    store = open_store()
    store.insert("a", {"id": "a", "n": 1})

    result = store.change("a", lambda _: Change("refused"))

    assert result == "refused"
    assert store.read_one("a").by_id["a"]["n"] == 1


def test_a_base_that_is_not_there_can_be_neither_revised_nor_deleted(open_store: OpenStore) -> None:
    store = open_store()

    assert store.change("a", counted_up) is None
    assert store.delete("a") is False


def test_a_deleted_base_is_gone_and_its_id_free(open_store: OpenStore) -> None:
    store = open_store()
    store.insert("a", {"id": "a", "n": 1})

    deleted = store.delete("a")

    assert deleted
    assert open_store().read_all().by_id == {}
    assert store.insert("a", {"id": "a", "n": 2})


def test_revisions_of_one_base_from_many_threads_are_all_counted(open_store: OpenStore) -> None:
    open_store().insert("a", {"id": "a"})
    stores = [open_store() for _ in range(4)]

    def work(store: RegistryStore) -> None:
        for _ in range(5):
            store.change("a", counted_up)

    threads = [threading.Thread(target=work, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert open_store().read_one("a").by_id["a"]["description"] == "20"


def test_of_many_that_take_an_id_at_once_one_gets_it(open_store: OpenStore) -> None:
    stores = [open_store() for _ in range(4)]
    won: list[bool] = []

    threads = [
        threading.Thread(target=lambda store=store: won.append(store.insert("a", {"id": "a"}))) for store in stores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(won) == [False, False, False, True]


def test_a_base_goes_through_the_whole_service(open_store: OpenStore) -> None:
    opened(open_store()).create("handbook", BaseChange(name="员工手册"))

    updated = opened(open_store()).update("handbook", BaseChange(description="规章"))

    assert updated.ok
    assert (updated.data.name, updated.data.description) == ("员工手册", "规章")
    assert opened(open_store()).show("handbook").data == updated.data


@given(data=entries)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_json_comes_back_as_it_was(open_store: OpenStore, data: dict[str, object]) -> None:
    stored = {**json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")), "id": "a"}
    store = open_store()
    store.delete("a")

    store.insert("a", {**stored, "id": "a"})

    assert json.dumps(store.read_one("a").by_id["a"], sort_keys=True) == json.dumps(
        {**stored, "id": "a"}, sort_keys=True
    )
