"""Python functions as jobs: ``executor.submit(train, 3).result()`` is what ``train(3)`` returns there, or raises.

    with Executor(plan, engine="slurm", accelerators={"type": "h100", "count": 8}, time_limit="2 h") as executor:
        futures = [executor.submit(train, seed) for seed in range(4)]
        print([future.result() for future in as_completed(futures)])

The function is found by its module and name there, so it must be importable; with ``cloudpickle`` installed on both
sides any function will do. Arguments and results are pickled; a result lies in a file that only the user's jobs write.
"""

from __future__ import annotations

import base64
import concurrent.futures
import pickle
import sys
import zlib
from collections.abc import Callable
from typing import Any

from ..catalog import Catalog
from ..errors import InputError, JobFailed
from ..plan.model import Plan
from ..spec import JobSpec
from ..spec.fleet import Connection
from .api import submit
from .fleet import Fleet
from .handle import Job
from .remote import RemoteTraceback
from .states import State
from .store import Store

__all__ = ["Call", "Executor", "RemoteTraceback"]

_MOST = 96_000  # characters of arguments: they travel in the command, which the system holds below 128 KiB


class Call(Job):
    """A function that runs as a job."""

    def result(self, timeout: float | None = None) -> Any:
        """What the function returned; raises what it raised, with the traceback from there as its cause."""
        state = self.wait(timeout)
        data = self.output() if state in (State.COMPLETED, State.FAILED) and self.record.connection else b""
        if not data:
            raise self._failure()
        kind, *rest = pickle.loads(data)
        if kind == "returned":
            return rest[0]
        error, text = rest
        if error is None:
            raise JobFailed(f"{self._failure()}\n{text}", state, self.record.exit_code)
        raise error from RemoteTraceback(text)


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs; ``fields`` are those of a job. ``map`` and ``with`` work as ever."""

    def __init__(
        self, where: Plan | Fleet, *, engine: str | Connection = "local", store: Store | None = None,
        catalog: Catalog | None = None, python: str = "", name: str = "", **fields: Any,
    ):  # fmt: skip
        self._where, self._engine, self._store, self._catalog = where, engine, store, catalog
        self._python, self._name, self._fields = python or sys.executable, name, fields
        self._calls: list[Call] = []
        self._closed = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Call:  # type: ignore[override]
        """Run ``function(*args, **kwargs)`` as a job."""
        if self._closed:
            raise RuntimeError("this executor was shut down")
        job = JobSpec.model_validate(
            {"accelerators": {"count": 0}} | self._fields
            | {"name": self._name or _name(function),
               "command": [self._python, "-m", "supercloud.jobs.remote", packed(function, args, kwargs)]}
        )  # fmt: skip
        held = submit(job, self._where, engine=self._engine, store=self._store, catalog=self._catalog)
        call = Call(held.record, held.store)
        self._calls.append(call)
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more; wait for what there is, or cancel it. Jobs go on whether or not anybody waits."""
        self._closed = True
        for call in self._calls if cancel_futures else ():
            call.cancel()
        if wait:
            from .futures import wait as wait_for

            wait_for(self._calls)


def packed(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A call as one word of a command line."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    paths = [path for path in sys.path if path]
    if module and module != "__main__" and name and "<" not in name:
        call = pickle.dumps((paths, f"{module}:{name}", pickle.dumps((args, kwargs))))
    else:
        try:
            import cloudpickle  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise InputError(f"{name or function!r} cannot be imported where the job runs: put it at the top of a "
                             "module, or install cloudpickle here and there") from None  # fmt: skip
        call = pickle.dumps((paths, "", cloudpickle.dumps((function, args, kwargs))))
    text = base64.urlsafe_b64encode(zlib.compress(call)).decode()
    if len(text) > _MOST:
        raise InputError(f"the arguments of {name} are {len(text)} characters when packed, at most {_MOST} travel with "
                         "a job; put them in a file and pass its path")  # fmt: skip
    return text


def _name(function: Callable[..., Any]) -> str:
    """A job's name for a function."""
    text = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in getattr(function, "__name__", "call"))
    return text.strip("-").lower()[:40].lstrip("0123456789-") or "call"
