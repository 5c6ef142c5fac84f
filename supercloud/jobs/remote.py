"""What runs where a function was sent to: ``python -m supercloud.jobs.remote CALL``. Rank 0 leaves the result."""

from __future__ import annotations

import base64
import contextlib
import importlib
import os
import pickle
import sys
import traceback
import zlib
from functools import reduce
from typing import Any

__all__ = ["RemoteTraceback", "main"]


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
        module, _, inside = name.partition(":")
        function = reduce(getattr, inside.split("."), importlib.import_module(module))
        args, kwargs = pickle.loads(inner)
    return function(*args, **kwargs)


def _leave(data: bytes) -> None:
    path = os.environ.get("SUPERCLOUD_RESULT")
    if not path or os.environ.get("RANK", "0") != "0":
        return
    with contextlib.suppress(FileExistsError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    new = f"{path}.{os.getpid()}"
    with open(new, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
