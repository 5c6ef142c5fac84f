"""What a copy in the place of the store does not know: who has it open, numbers given out, jobs started since."""

from __future__ import annotations

from pathlib import Path

import pytest

from supercloud.errors import StoreError
from supercloud.jobs import database, upkeep
from supercloud.jobs.store import Store


def recorded(store: Store, *keys: str) -> list[int]:
    return [store.record(key=key, name=key, spec="{}", fleet="fleet", held=True)[0].id for key in keys]


@pytest.mark.parametrize("shared", [False, True])
def test_a_store_that_is_open_is_not_restored_whatever_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setattr(database, "is_shared", lambda path: shared)
    folder = tmp_path / "state"
    with Store(folder) as store:
        recorded(store, "a")
        upkeep.back_up(store, tmp_path / "copy")
        with pytest.raises(StoreError, match="in use"):
            upkeep.restore(folder, tmp_path / "copy")
        with Store(folder), pytest.raises(StoreError, match="in use"):
            upkeep.restore(folder, tmp_path / "copy")
        recorded(store, "b")
    assert upkeep.restore(folder, tmp_path / "copy")
    with Store(folder) as again:
        assert [record.key for record in again.select()] == ["a"]


def test_a_store_that_was_moved_away_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "is_shared", lambda path: True)
    with Store(tmp_path / "state") as store:
        (tmp_path / "state/jobs.db").rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="moved or replaced while it was open"):
            recorded(store, "a")


@pytest.mark.parametrize("damaged", [False, True])
def test_numbers_given_out_since_the_backup_are_not_used_again(tmp_path: Path, damaged: bool) -> None:
    folder = tmp_path / "state"
    with Store(folder) as store:
        recorded(store, "a", "b")
        upkeep.back_up(store, tmp_path / "copy")
        recorded(store, "c", "d")
    if damaged:
        (folder / "jobs.db").write_bytes(b"nonsense" * 1000)
    upkeep.restore(folder, tmp_path / "copy")
    with Store(folder) as store:
        assert [record.id for record in store.select()] == [2, 1]
        (number,) = recorded(store, "e")
        assert number > 1000 if damaged else number == 5
    upkeep.restore(folder, tmp_path / "copy")
    with Store(folder) as store:
        assert recorded(store, "f") == [number + 1], "the second time the same"
