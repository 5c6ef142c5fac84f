"""Folders for backups of the store, and whose backups are restored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from supercloud.errors import InputError
from supercloud.jobs.maintenance import back_up, restore
from supercloud.jobs.store.records import NewJob
from supercloud.jobs.store.store import Store


def fill(folder: Path) -> None:
    with Store(folder) as store:
        store.record(NewJob(key="k", name="job", spec="{}", is_held=True, fleet="f"))


@pytest.mark.parametrize("bits", [0o700, 0o2775, 0o777, 0o1777])
def test_a_backup_may_be_in_a_folder_that_others_can_write(tmp_path: Path, bits: int) -> None:
    fill(tmp_path / "state")
    folder = tmp_path / "backups"
    folder.mkdir()
    folder.chmod(bits)
    with Store(tmp_path / "state") as store:
        back_up(store, folder / "copy")
    assert [path.name for path in folder.iterdir()] == ["copy"]
    assert (folder / "copy").stat().st_mode & 0o777 == 0o600
    restore(tmp_path / "other", folder / "copy")
    with Store(tmp_path / "other") as store:
        assert store.get(1).key == "k"


def test_a_backup_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    fill(tmp_path / "state")
    with Store(tmp_path / "state") as store, pytest.raises(InputError, match="specify a file in a writable folder"):
        back_up(store, tmp_path / "missing" / "copy")


@pytest.mark.parametrize("bits", [0o620, 0o602])
def test_a_backup_that_others_can_write_is_not_restored(tmp_path: Path, bits: int) -> None:
    fill(tmp_path / "state")
    with Store(tmp_path / "state") as store:
        back_up(store, tmp_path / "copy")
    (tmp_path / "copy").chmod(bits)
    with pytest.raises(InputError, match="writable by other users .* chmod go-w"):
        restore(tmp_path / "other", tmp_path / "copy")
    assert not (tmp_path / "other/jobs.db").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_backup_of_another_user_is_not_restored(tmp_path: Path) -> None:
    fill(tmp_path / "state")
    with Store(tmp_path / "state") as store:
        back_up(store, tmp_path / "copy")
    os.chown(tmp_path / "copy", 65534, 65534)
    with pytest.raises(InputError, match="belongs to user 65534"):
        restore(tmp_path / "other", tmp_path / "copy")
