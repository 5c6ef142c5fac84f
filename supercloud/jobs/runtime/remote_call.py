"""What runs where a function was sent to: ``python -c THIS``, the call in SUPERCLOUD_CALL. Rank 0 leaves the result.

It goes there as a text, so it imports nothing but the standard library.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import os
import pickle
import sys
import traceback
import types
import zlib
from functools import reduce
from typing import Any

__all__ = ["CALL", "LOG", "MARK", "READING", "SCRIPT", "RemoteTraceback", "main"]

CALL = "SUPERCLOUD_CALL"
"""The function with its arguments, packed: a variable, because everybody may read the arguments of processes."""
LOG = "SUPERCLOUD_RESULT_LOG"
"""Set where no file outlives the job, which otherwise SUPERCLOUD_RESULT names: it prints what it leaves."""
MARK = "supercloud-result"
"""Begins a piece of a result in what a job prints: MARK KEY EPOCH NUMBER COUNT BASE64, to the end of the line."""
READING = "SUPERCLOUD_READING"
"""Set while a script is read for its functions: what submits jobs then would do so without end."""
SCRIPT = "__supercloud__"
"""What a script is called where only its functions are wanted."""
_PIECE = 6000  # bytes: as base64 less than the half of what container runtimes break lines at
_MOST = 4 << 20  # bytes: a kubelet keeps 10 MiB of a log unless it is told otherwise


class RemoteTraceback(Exception):
    """The traceback of an exception from where it was raised, as a text."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def main(word: str) -> int:
    """Call the function; 1 when it raised."""
    try:
        answer: tuple[Any, ...] = ("returned", _call(word))
        data = pickle.dumps(answer)
    except BaseException as error:
        text = traceback.format_exc()
        sys.stderr.write(text)
        try:
            data = pickle.dumps(("raised", error, text))
            pickle.loads(data)  # there are exceptions that only pickle one way
        except Exception:
            data = pickle.dumps(("raised", None, text))
        _leave(data)
        return 1
    _leave(data)
    return 0


def _call(word: str) -> Any:
    paths, name, inner = pickle.loads(zlib.decompress(base64.urlsafe_b64decode(word)))
    sys.path += [path for path in paths if path not in sys.path]
    if not name:
        function, args, kwargs = pickle.loads(inner)
    else:
        module, _, inside = name.rpartition(":")
        found = _script(module) if os.path.isabs(module) else importlib.import_module(module)
        function = reduce(getattr, inside.split("."), found)
        args, kwargs = pickle.loads(inner)
    return function(*args, **kwargs)


def _script(path: str) -> types.ModuleType:
    """The script that sent its own function, as the main module; it is not called ``__main__`` while it is read."""
    module = types.ModuleType(SCRIPT)
    module.__file__ = path
    sys.modules["__main__"] = sys.modules[SCRIPT] = module  # its classes have either name in what was pickled
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    os.environ[READING] = path
    try:
        exec(code, vars(module))
    finally:
        del os.environ[READING]
    return module


def _leave(data: bytes) -> None:
    path = os.environ.get("SUPERCLOUD_RESULT")
    if os.environ.get("RANK", "0") != "0":
        return
    if not path:
        if LOG in os.environ:
            _print(data)
        return
    with contextlib.suppress(FileExistsError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    new = f"{path}.{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def _print(data: bytes) -> None:
    if len(data) > _MOST:
        text = f"the result is {len(data)} bytes, at most {_MOST} travel through the log of a pod: write it to a file"
        data = pickle.dumps(("raised", ValueError(text), text))
    key, epoch = os.environ.get("SUPERCLOUD_JOB_KEY", ""), os.environ.get("SUPERCLOUD_EPOCH", "1")
    pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)]
    for number, piece in enumerate(pieces):
        print(MARK, key, epoch, number, len(pieces), base64.b64encode(piece).decode())
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(os.environ.pop(CALL)))
