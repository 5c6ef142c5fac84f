"""The program of a function job: ``python -c THIS``, with the call in SUPERCLOUD_CALL. Rank 0 writes the result.

It is sent as source text, so it imports only the standard library.
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

__all__ = [
    "CALL_VARIABLE",
    "LOG_VARIABLE",
    "RESULT_MARK",
    "READING_VARIABLE",
    "SCRIPT_MODULE",
    "RemoteTracebackError",
    "main",
]

CALL_VARIABLE = "SUPERCLOUD_CALL"
"""The packed function with its arguments: in a variable, because all users can read the arguments of processes."""
LOG_VARIABLE = "SUPERCLOUD_RESULT_LOG"
"""Set if the result is printed, because no file (SUPERCLOUD_RESULT) outlives the job."""
RESULT_MARK = "supercloud-result"
"""Starts a chunk of a result in the output of a job: MARK KEY EPOCH NUMBER COUNT BASE64, to the end of the line."""
READING_VARIABLE = "SUPERCLOUD_READING"
"""Set while a script is imported for its functions: a job that submits itself would do so forever."""
SCRIPT_MODULE = "__supercloud__"
"""Module name of a script that is imported for its functions."""
_CHUNK_SIZE = 6000  # bytes: as base64 less than half of the line limit of container runtimes
_MAX_LOGGED_RESULT = 4 << 20  # bytes: a kubelet keeps 10 MiB of a log by default


class RemoteTracebackError(Exception):
    """The remote traceback of an exception, as a text."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def main(packed_call: str) -> int:
    """Call the function; returns 1 if it raised an exception."""
    try:
        answer: tuple[Any, ...] = ("returned", _call_function(packed_call))
        data = pickle.dumps(answer)
    except BaseException as error:
        text = traceback.format_exc()
        sys.stderr.write(text)
        epoch = _read_epoch()  # a later attempt may end without an answer
        try:
            data = pickle.dumps(("raised", error, text, epoch))
            pickle.loads(data)  # some exceptions can be pickled but not unpickled
        except Exception:
            data = pickle.dumps(("raised", None, text, epoch))
        _write_result(data)
        return 1
    _write_result(data)
    return 0


def _read_epoch() -> int:
    """The epoch of this attempt; 0 if it is not reliable: Kubernetes does not count the starts of the job."""
    return int(os.environ.get("SUPERCLOUD_EPOCH") or 0) if os.environ.get("SUPERCLOUD_STARTS", "1") else 0


def _call_function(packed_call: str) -> Any:
    paths, name, inner = pickle.loads(zlib.decompress(base64.urlsafe_b64decode(packed_call)))
    sys.path += [path for path in paths if path not in sys.path]
    if not name:
        function, args, kwargs = pickle.loads(inner)
    else:
        module, _, inside = name.rpartition(":")
        found = _load_script(module) if os.path.isabs(module) else importlib.import_module(module)
        function = reduce(getattr, inside.split("."), found)
        args, kwargs = pickle.loads(inner)
    return function(*args, **kwargs)


def _load_script(path: str) -> types.ModuleType:
    """Import the script of the function as the main module, under another name than ``__main__``."""
    module = types.ModuleType(SCRIPT_MODULE)
    module.__file__ = path
    sys.modules["__main__"] = sys.modules[SCRIPT_MODULE] = module  # its classes have either module name in pickles
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    os.environ[READING_VARIABLE] = path
    try:
        exec(code, vars(module))
    finally:
        del os.environ[READING_VARIABLE]
    return module


def _write_result(data: bytes) -> None:
    path = os.environ.get("SUPERCLOUD_RESULT")
    if os.environ.get("RANK", "0") != "0":
        return
    if not path:
        if LOG_VARIABLE in os.environ:
            _print_result(data)
        return
    with contextlib.suppress(FileExistsError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    new = f"{path}.{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def _print_result(data: bytes) -> None:
    if len(data) > _MAX_LOGGED_RESULT:
        text = (
            f"the result is {len(data)} bytes, at most {_MAX_LOGGED_RESULT} fit in the log of a pod: write it to a file"
        )
        data = pickle.dumps(("raised", ValueError(text), text))
    key, epoch = os.environ.get("SUPERCLOUD_JOB_KEY", ""), os.environ.get("SUPERCLOUD_EPOCH", "1")
    pieces = [data[start : start + _CHUNK_SIZE] for start in range(0, len(data), _CHUNK_SIZE)]
    for number, piece in enumerate(pieces):
        print(RESULT_MARK, key, epoch, number, len(pieces), base64.b64encode(piece).decode())
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(os.environ.pop(CALL_VARIABLE)))
