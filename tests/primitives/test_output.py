"""A file is written whole or not at all, and never where a link points."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from supercloud.errors import OperationError, OutputError
from supercloud.primitives.output import write_file


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    victim, link, dangling = tmp_path / "victim", tmp_path / "link", tmp_path / "dangling"
    victim.write_text("old")
    link.symlink_to(victim)
    dangling.symlink_to(tmp_path / "nothing")
    for path in (link, dangling):
        with pytest.raises(OutputError, match="symbolic link"):
            write_file(path, "new")
    assert victim.read_text() == "old" and not (tmp_path / "nothing").exists()


def test_only_regular_files_are_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path):
        with pytest.raises(OutputError, match="not a regular file"):
            write_file(path, "new")


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    page = tmp_path / "page"
    write_file(page, "old")
    with pytest.raises(UnicodeEncodeError):
        write_file(page, "new\ud800")
    assert page.read_text() == "old" and os.listdir(tmp_path) == ["page"]
    with pytest.raises(OperationError, match="nothing was changed"):
        write_file(page / "under" / "a file", "new")


def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept", tmp_path / "folder" / "new"
    kept.write_text("old")
    kept.chmod(0o600)
    before = os.umask(0o027)
    try:
        write_file(kept, "new")
        write_file(new, "new")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (kept, new)] == [0o600, 0o640]
