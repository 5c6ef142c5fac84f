"""Python functions as jobs: ``executor.submit(train, 3).result()`` returns or raises what ``train(3)`` returns or
raises there.

    with Executor(plan, engine="slurm", accelerators={"type": "h100", "count": 8}, time_limit="2 h") as executor:
        futures = [executor.submit(train, seed) for seed in range(4)]
        print([future.result() for future in as_completed(futures)])

The function is found there by its module and name, so it must be importable, or be in the script that runs, which then
submits only under ``if __name__ == "__main__":``; with ``cloudpickle`` installed on both sides any function is
supported. The job's machine or image needs Python of the same release, but not supercloud.

Arguments are passed in a variable of the job's environment, which other users of a node cannot read, and are stored in
the job's script or object: users that can read those can read the arguments.

Arguments and results are pickled, and unpickling executes code: a result must be trusted as much as all users who can
write it. On this machine and under Slurm it is a file in a folder that only the user can write, and a file of another
user is rejected. On Kubernetes it is part of the output of the job's pods, which all users can forge who may create
pods or execute programs in the tenant's namespace: share a namespace only with users whom you would let run programs as
yourself.
"""

from __future__ import annotations

import base64
import importlib
import pickle
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, ParamSpec, Self, TypeVar, cast

from ..catalog import Catalog
from ..errors import InputError, JobFailedError
from ..plan.model.plan import Plan
from ..primitives.responses import replace_surrogates
from ..spec import JobSpec
from ..spec.fleet import Connection
from .api import submit
from .engines.base import LocatesResults
from .fleet.state import Fleet
from .job import JobHandle
from .placement.arguments import require_destination
from .runtime import remote_call as remote
from .runtime.epochs import compute_previous_epoch
from .runtime.remote_call import SCRIPT_MODULE, RemoteTracebackError
from .store.states import State
from .store.store import Store

__all__ = ["FunctionJob", "Executor", "RemoteTracebackError"]

_MAX_PACKED_LENGTH = (
    96_000  # characters of arguments: they are passed in a variable, which the system limits to 128 KiB
)

_Arguments = ParamSpec("_Arguments")
_Value = TypeVar("_Value")


class FunctionJob(JobHandle[_Value], Generic[_Value]):
    """A function that runs as a job; its type is that of the value of the function."""

    def result(self, timeout: float | None = None) -> _Value:
        """Wait, and return the value of the function, or raise its exception with the remote traceback as the cause.

        Args:
            timeout: Seconds to wait; None means no limit.

        Raises:
            JobFailedError: If the job ended without a result.
            TimeoutError: If it has not ended in time.
        """
        problem = self.exception(timeout)
        if problem is not None:
            raise problem
        return self._value

    def _find_exception(self) -> BaseException | None:
        state = self.record.state
        data = self.read_output() if state in (State.COMPLETED, State.FAILED) and self.record.connection else b""
        if not data:
            return self._build_failure()
        sys.modules.setdefault(SCRIPT_MODULE, sys.modules["__main__"])  # the module name of its classes in an answer
        try:
            answer = _parse_answer(data)
        except Exception as problem:  # loading runs code of the classes of the result
            return self._build_unreadable_error(problem)
        if answer.has_returned:
            if state is not State.COMPLETED:  # another task of the job failed, or a later attempt
                return self._build_failure()
            self._value = cast(_Value, answer.value)
            return None
        first_epoch = compute_previous_epoch(self.record.engine_key)
        is_stale = 0 < answer.epoch < first_epoch + self.record.attempt
        # SystemExit and KeyboardInterrupt are not Exceptions: raised here, they would end this program
        if is_stale or not isinstance(answer.value, Exception):
            origin = "\na previous attempt raised:" if is_stale else ""
            return JobFailedError(f"{self._build_failure()}{origin}\n{answer.traceback}", state, self.record.exit_code)
        answer.value.__cause__ = RemoteTracebackError(answer.traceback)
        return answer.value

    def _build_unreadable_error(self, problem: Exception) -> JobFailedError:
        engine = self._open_engine()
        place = f" in {engine.describe_result(self.record.engine_key)}" if isinstance(engine, LocatesResults) else ""
        error = JobFailedError(
            f"job {self.id} ({self.record.name}) ended as {self.record.state}, and its result{place} cannot be read "
            f"here: {type(problem).__name__}: {replace_surrogates(str(problem))[:300]}; the file must be complete, and "
            "the modules and classes of the result must be the same here as where the job ran",
            self.record.state,
            self.record.exit_code,
        )
        error.__cause__ = problem
        return error


class Executor:
    """Runs functions as jobs, like executors of ``concurrent.futures``. In a ``with`` statement it waits for its jobs.

    Args:
        destination: The plan of a cluster, or a fleet.
        engine: Name of the engine or a connection; by default the plan's own scheduler.
        store: Records of jobs; by default those of this user.
        catalog: Facts, instead of those of the plan.
        python: Python where the job runs; by default the one of this program, in an image ``python3``.
        name: Name of the jobs; by default that of the function.
        fields: Further fields of each job, with the values that YAML has: ``accelerators={"count": 8}``.

    Raises:
        InputError: If ``destination`` is not a plan or a fleet, or the fields have an array.
    """

    def __init__(
        self,
        destination: Plan | Fleet,
        *,
        engine: str | Connection | None = None,
        store: Store | None = None,
        catalog: Catalog | None = None,
        python: str = "",
        name: str = "",
        **fields: Any,
    ):
        require_destination(destination, (Plan, Fleet), "Executor requires a plan or a fleet")
        if fields.get("array"):
            raise InputError(
                "Executor does not support array: the tasks of an array have one result file; call executor.map, which "
                "submits a job for each value"
            )
        self._where, self._engine, self._store, self._catalog = destination, engine, store, catalog
        self._python = python or ("python3" if fields.get("image") else sys.executable)
        self._name, self._fields = name, fields
        self._calls: list[FunctionJob[Any]] = []
        self._closed = False

    def submit(
        self, function: Callable[_Arguments, _Value], /, *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> FunctionJob[_Value]:
        """Run ``function(*args, **kwargs)`` as a job.

        Args:
            function: A function that the job can import by its module and name; with ``cloudpickle`` any function.
            args: Its positional arguments, which are pickled.
            kwargs: Its named arguments, which are pickled.

        Raises:
            RuntimeError: After the shutdown of the executor.
            SpecError: If a field of the job is not valid, and as :func:`submit` raises it.
            InputError: If the function or its arguments cannot be sent, and as :func:`submit` raises it.
            EngineError: As :func:`submit` raises it.
        """
        if self._closed:
            raise RuntimeError("this executor was shut down")
        fields: dict[str, Any] = (
            {"accelerators": {"count": 0}}
            | self._fields
            | {
                "name": self._name or _build_job_name(function),
                "command": [self._python, "-c", _read_remote_program()],
                "env": {**self._fields.get("env", {}), remote.CALL_VARIABLE: pack_call(function, args, kwargs)},
            }
        )
        held = submit(JobSpec(**fields), self._where, engine=self._engine, store=self._store, catalog=self._catalog)
        call = FunctionJob[_Value](held.record, held.store)
        self._calls.append(call)
        return call

    def map(
        self, function: Callable[..., _Value], /, *iterables: Iterable[Any], timeout: float | None = None
    ) -> Iterator[_Value]:
        """The return values in order; all jobs are submitted before waiting for the first.

        Args:
            function: As for :meth:`submit`.
            iterables: Its arguments: one call for each item, until the shortest ends.
            timeout: Seconds to wait for all results; None means no limit.

        Raises:
            TimeoutError: If a result is not available in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        calls = [self.submit(function, *args) for args in zip(*iterables, strict=False)]
        return (call.result(None if end is None else max(0.0, end - time.monotonic())) for call in calls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.shutdown()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more functions. Jobs continue even if no process waits for them.

        Args:
            wait: Whether to wait for the jobs.
            cancel_futures: Whether to cancel the jobs first.
        """
        self._closed = True
        for call in self._calls if cancel_futures else ():
            call.cancel()
        if wait:
            from .futures import wait as wait_for

            wait_for(self._calls)


class _Answer(NamedTuple):
    """What the program of a function wrote."""

    has_returned: bool
    value: Any
    """The return value or the exception; None if the exception cannot be pickled."""
    traceback: str = ""
    epoch: int = 0
    """Of the attempt that raised it; 0 if unknown."""


def _parse_answer(data: bytes) -> _Answer:
    """Raises the errors of the pickle, and :class:`ValueError` if it contains something else."""
    match pickle.loads(data):
        case ("returned", value):
            return _Answer(True, value)
        case ("raised", (BaseException() | None) as error, str(text)):
            return _Answer(False, error, text)
        case ("raised", (BaseException() | None) as error, str(text), int(epoch)):
            return _Answer(False, error, text, epoch)
    raise ValueError("it is not the result of a function")


def pack_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Serialize a call as one word.

    Raises :class:`InputError` if the function cannot be imported where the job runs, or its arguments are too long.
    """
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    paths = [path for path in sys.path if path]
    if module and module != "__main__" and name and "<" not in name:
        call = pickle.dumps((paths, f"{module}:{name}", pickle.dumps((args, kwargs))))
    else:
        try:
            cloudpickle = importlib.import_module("cloudpickle")
            call = pickle.dumps((paths, "", cloudpickle.dumps((function, args, kwargs))))
        except ImportError:
            main = sys.modules["__main__"]
            script = getattr(main, "__file__", None) if getattr(main, "__spec__", None) is None else None
            if module != "__main__" or "<" in name or not script or not Path(script).is_file():
                raise InputError(
                    f"{name or function!r} cannot be imported where the job runs: define it at the top level of a "
                    "module, or install cloudpickle here and on the job's machines"
                ) from None
            call = pickle.dumps((paths, f"{Path(script).resolve()}:{name}", pickle.dumps((args, kwargs))))
    text = base64.urlsafe_b64encode(zlib.compress(call)).decode()
    if len(text) > _MAX_PACKED_LENGTH:
        raise InputError(
            f"the arguments of {name} are {len(text)} characters packed, at most {_MAX_PACKED_LENGTH} can be passed to "
            "a job; put them in a file and pass its path"
        )
    return text


@cache
def _read_remote_program() -> str:
    """The program that calls the function in the job."""
    return Path(remote.__file__).read_text()


def _build_job_name(function: Callable[..., Any]) -> str:
    """A job's name for a function."""
    text = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in getattr(function, "__name__", "call"))
    return text.strip("-").lower()[:40].lstrip("0123456789-") or "call"
