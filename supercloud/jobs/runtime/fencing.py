"""Fenced checkpoints: only the latest attempt of a job can commit.

A node that Slurm has marked as down may continue to run its tasks at the same time as their next attempt. Every attempt
has a higher epoch (``SUPERCLOUD_EPOCH``); commits of an older one are refused, and late ones are never read.

    checkpoint = fencing.find_latest()                # where to continue; None in the first attempt
    with fencing.commit("step-1000") as folder:       # a new folder next to the checkpoints
        save(model, folder / "model.pt")              # renamed at the end of the block; FencedError if superseded

Files and rules are the same as in ``checkpoint.sh``, for programs in other languages: ``.epochs/EPOCH`` is created
once, by link(2), with the name of the checkpoint that this attempt continues from; a checkpoint is
``EPOCH-NUMBER-NAME``, moved there by rename(2). There are no locks: a node that hangs blocks no other.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ...errors import InputError, OperationError

__all__ = ["FencedError", "commit", "find_latest"]

_NAME_PATTERN = re.compile(r"[A-Za-z0-9._-]+")
_CHECKPOINT_PATTERN = re.compile(r"(\d{10})-(\d{8})-.+")


class FencedError(OperationError):
    """A later attempt of this job has taken over: stop without further changes."""


def find_latest(path: str | os.PathLike[str] | None = None, epoch: int | None = None) -> Path | None:
    """The checkpoint to continue from, None if there is none. Claims the epoch: earlier attempts can no longer
    commit.

    Raises :class:`FencedError` if a later attempt has claimed it, and :class:`InputError` outside a job with a
    checkpoint path.
    """
    folder, mine = _claim_epoch(path, epoch)
    name = _find_resume_checkpoint(folder)
    _require_current_epoch(folder, mine)
    return folder / name if name else None


@contextlib.contextmanager
def commit(name: str, path: str | os.PathLike[str] | None = None, epoch: int | None = None) -> Iterator[Path]:
    """A folder to write a checkpoint into; it is committed when the block ends without an error.

    Raises :class:`FencedError` if a later attempt has claimed the epoch, and :class:`InputError` for a name that is not
    valid or outside a job with a checkpoint path.
    """
    if not _NAME_PATTERN.fullmatch(name):
        raise InputError(f"{name!r} is not a valid checkpoint name: use letters, digits, dots, dashes and underscores")
    folder, mine = _claim_epoch(path, epoch)
    fresh = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    try:
        fresh.chmod(0o755)
        yield fresh
        _sync(fresh)
        _require_current_epoch(folder, mine)
        last = _find_last_checkpoint(folder, _format_epoch(mine))
        number = int(last.split("-")[1]) if last else 0
        fresh.rename(folder / f"{_format_epoch(mine)}-{number + 1:08d}-{name}")
        _sync_folder(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _claim_epoch(path: str | os.PathLike[str] | None, epoch: int | None) -> tuple[Path, int]:
    """The folder and the claimed epoch: the first task records the checkpoint that all tasks of this attempt continue
    from.
    """
    configured = path or os.environ.get("SUPERCLOUD_CHECKPOINT")
    number = epoch if epoch is not None else int(os.environ.get("SUPERCLOUD_EPOCH") or 0)
    if not configured or not number:
        raise InputError(
            "this is not a job with a checkpoint path: specify path and epoch, or set SUPERCLOUD_CHECKPOINT and "
            "SUPERCLOUD_EPOCH"
        )
    folder = Path(configured)
    epochs = folder / ".epochs"
    epochs.mkdir(parents=True, exist_ok=True)
    if not (epochs / _format_epoch(number)).exists():
        note = epochs / f".claim.{socket.gethostname()}.{os.getpid()}"
        note.write_text(_find_resume_checkpoint(folder))
        with contextlib.suppress(FileExistsError):
            os.link(note, epochs / _format_epoch(number))
        note.unlink()
    _require_current_epoch(folder, number)
    return folder, number


def _format_epoch(epoch: int) -> str:
    return f"{epoch:010d}"


def _find_current_epoch(folder: Path) -> str:
    """The highest claimed epoch; empty if there is none."""
    return max((name for name in os.listdir(folder / ".epochs") if name.isdigit()), default="")


def _require_current_epoch(folder: Path, epoch: int) -> None:
    if (now := _find_current_epoch(folder)) != _format_epoch(epoch):
        raise FencedError(f"epoch {epoch} of this job was superseded by epoch {int(now)}")


def _find_last_checkpoint(folder: Path, epoch: str) -> str:
    found = (
        match for name in os.listdir(folder) if (match := _CHECKPOINT_PATTERN.fullmatch(name)) and match[1] == epoch
    )
    return max((match[0] for match in found), default="")


def _find_resume_checkpoint(folder: Path) -> str:
    """The last checkpoint of the current epoch, or the one it continued from: never one that an earlier epoch committed
    later.
    """
    now = _find_current_epoch(folder)
    return (_find_last_checkpoint(folder, now) or (folder / ".epochs" / now).read_text()) if now else ""


def _sync(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError), open(Path(place, name), "rb") as file:
                os.fsync(file.fileno())
        _sync_folder(Path(place))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
