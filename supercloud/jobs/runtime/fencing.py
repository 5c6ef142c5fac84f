"""Checkpoints that an old copy of a job cannot spoil: only the latest start commits.

A node that Slurm has given up may go on running its tasks beside their next start. Every start has a higher epoch
(``SUPERCLOUD_EPOCH``); what the old one still commits is refused, and what slips in between is never read.

    checkpoint = fencing.find_latest()                # where to go on from; None at the first start
    with fencing.commit("step-1000") as folder:       # a fresh folder beside the checkpoints
        save(model, folder / "model.pt")              # renamed when the block has ended; FencedError if fenced off

The files and rules are those of ``checkpoint.sh``, for programs in other languages: ``.epochs/EPOCH`` is made once, by
link(2), and holds the name of the checkpoint that this start goes on from; a checkpoint is ``EPOCH-NUMBER-NAME``, put
there by rename(2). There are no locks: a node that hangs holds up nobody.
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
    """A later start of this job has taken over: stop, and change nothing any more."""


def find_latest(path: str | os.PathLike[str] | None = None, epoch: int | None = None) -> Path | None:
    """The checkpoint to go on from, None when there is none. Claims the epoch: earlier starts commit no more."""
    folder, mine = _claim_epoch(path, epoch)
    name = _find_resume_checkpoint(folder)
    _require_current_epoch(folder, mine)
    return folder / name if name else None


@contextlib.contextmanager
def commit(name: str, path: str | os.PathLike[str] | None = None, epoch: int | None = None) -> Iterator[Path]:
    """A folder to write a checkpoint into; it takes its place when the block has ended without an error."""
    if not _NAME_PATTERN.fullmatch(name):
        raise InputError(f"{name!r} is no name for a checkpoint: write letters, digits, dots, dashes and underscores")
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
    """The folder and the epoch, claimed: whoever is first writes down what all tasks of this start go on from."""
    said = path or os.environ.get("SUPERCLOUD_CHECKPOINT")
    number = epoch if epoch is not None else int(os.environ.get("SUPERCLOUD_EPOCH") or 0)
    if not said or not number:
        raise InputError(
            "this is no job with a checkpoint path: give path and epoch, or set SUPERCLOUD_CHECKPOINT and "
            "SUPERCLOUD_EPOCH"
        )
    folder = Path(said)
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
    """The highest epoch that anybody has claimed; empty when nobody has."""
    return max((name for name in os.listdir(folder / ".epochs") if name.isdigit()), default="")


def _require_current_epoch(folder: Path, epoch: int) -> None:
    if (now := _find_current_epoch(folder)) != _format_epoch(epoch):
        raise FencedError(f"epoch {epoch} of this job is over: {int(now)} has taken over")


def _find_last_checkpoint(folder: Path, epoch: str) -> str:
    found = (
        match for name in os.listdir(folder) if (match := _CHECKPOINT_PATTERN.fullmatch(name)) and match[1] == epoch
    )
    return max((match[0] for match in found), default="")


def _find_resume_checkpoint(folder: Path) -> str:
    """The last one of the current epoch, or what it went on from: never what an earlier one left after the claim."""
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
