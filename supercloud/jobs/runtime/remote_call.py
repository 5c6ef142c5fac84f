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

__all__ = [
    "CALL_VARIABLE",
    "LOG_VARIABLE",
    "RESULT_MARK",
    "READING_VARIABLE",
    "SCRIPT_MODULE",
    "RemoteTraceback",
    "main",
]

CALL_VARIABLE = "SUPERCLOUD_CALL"
"""The function with its arguments, packed: a variable, because everybody may read the arguments of processes."""
LOG_VARIABLE = "SUPERCLOUD_RESULT_LOG"
"""Set where no file outlives the job, which otherwise SUPERCLOUD_RESULT names: it prints what it leaves."""
RESULT_MARK = "supercloud-result"
"""Begins a piece of a result in what a job prints: MARK KEY EPOCH NUMBER COUNT BASE64, to the end of the line."""
READING_VARIABLE = "SUPERCLOUD_READING"
"""Set while a script is read for its functions: what submits jobs then would do so without end."""
SCRIPT_MODULE = "__supercloud__"
"""What a script is called where only its functions are wanted."""
_CHUNK_SIZE = 6000  # bytes: as base64 less than the half of what container runtimes break lines at
_MAX_LOGGED_RESULT = 4 << 20  # bytes: a kubelet keeps 10 MiB of a log unless it is told otherwise


class RemoteTraceback(Exception):
    """The traceback of an exception from where it was raised, as a text."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def main(packed_call: str) -> int:
    """Call the function; 1 when it raised."""
    try:
        answer: tuple[Any, ...] = ("returned", _call_function(packed_call))
        data = pickle.dumps(answer)
    except BaseException as error:
        text = traceback.format_exc()
        sys.stderr.write(text)
        try:
            data = pickle.dumps(("raised", error, text))
            pickle.loads(data)  # there are exceptions that only pickle one way
        except Exception:
            data = pickle.dumps(("raised", None, text))
        _write_result(data)
        return 1
    _write_result(data)
    return 0


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
    """The script that sent its own function, as the main module; it is not called ``__main__`` while it is read."""
    module = types.ModuleType(SCRIPT_MODULE)
    module.__file__ = path
    sys.modules["__main__"] = sys.modules[SCRIPT_MODULE] = module  # its classes have either name in what was pickled
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
            f"the result is {len(data)} bytes, at most {_MAX_LOGGED_RESULT} travel through the log of a pod: "
            "write it to a file"
        )
        data = pickle.dumps(("raised", ValueError(text), text))
    key, epoch = os.environ.get("SUPERCLOUD_JOB_KEY", ""), os.environ.get("SUPERCLOUD_EPOCH", "1")
    pieces = [data[start : start + _CHUNK_SIZE] for start in range(0, len(data), _CHUNK_SIZE)]
    for number, piece in enumerate(pieces):
        print(RESULT_MARK, key, epoch, number, len(pieces), base64.b64encode(piece).decode())
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(os.environ.pop(CALL_VARIABLE)))
