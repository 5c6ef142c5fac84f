"""Answers of bounded size and duration, from a service, a command or a login node.

The answers of a cluster are not under our control. An endless answer would fill the memory, and an answer that arrives
byte by byte would never reach a timeout between bytes.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO

from ...errors import SubmissionUnknownError

__all__ = [
    "AnswerTooLargeError",
    "RESPONSE_LIMITS",
    "POLL_TIMEOUT",
    "MAX_ERROR_BYTES",
    "MAX_RESULT_BYTES",
    "Deadline",
    "end_queries",
    "ResponseLimits",
    "read_bounded",
    "run_bounded",
]


@dataclass(frozen=True)
class ResponseLimits:
    """Bytes of an answer, and seconds from the request to its end."""

    max_bytes: int
    timeout: float


RESPONSE_LIMITS = ResponseLimits(2**27, 900)
"""slurmrestd sends about 10 kB per job, and a controller keeps 10,000 of them by default (MaxJobCount); squeue and
sacct print about 300 bytes per job or task, and the database takes minutes to find them. Kubernetes sends 500 objects
per page. Parsing takes several times the size of the answer in memory: :mod:`supercloud.primitives.responses` limits
the number of values."""

POLL_TIMEOUT = 30.0
"""Seconds that the broker waits for all of its clusters together, in each phase of a cycle. A cluster that has not
answered then is out of service until its answer arrives; jobs of other clusters continue."""

MAX_ERROR_BYTES = 2**20
"""Bytes of an error that are read: the reason is at the beginning."""

MAX_RESULT_BYTES = 2**30
"""Maximum bytes of a job's result that are read into memory."""

_CHUNK_SIZE = 2**18


class Deadline:
    """The end of a request: at the deadline its connections are shut down, so that no read continues.

    A timeout per read is not sufficient: headers, chunk sizes and contents may all arrive byte by byte.
    """

    def __init__(self, seconds: float):
        self.seconds, self.has_passed = seconds, False
        self._watched: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True

    def watch(self, connection: socket.socket) -> None:
        """Also shut down this connection if it is still used at the deadline.

        It is duplicated as a separate descriptor, so that TLS can be started on it later. Raises :class:`OSError`, and
        closes the connection, if that fails.
        """
        try:
            watched = socket.socket(fileno=os.dup(connection.fileno()))
        except OSError:
            connection.close()
            raise
        with self._lock:
            self._forget()  # a request has one at a time; the previous one was abandoned
            self._watched = watched
        if self.has_passed:
            self._shut_down()

    def _shut_down(self) -> None:
        with self._lock:
            self.has_passed = True
            if self._watched:
                with suppress(OSError):
                    self._watched.shutdown(socket.SHUT_RDWR)

    def _forget(self) -> None:
        if self._watched:
            self._watched.close()
        self._watched = None

    def wait(self, seconds: float) -> None:
        """Wait, at most until the deadline."""
        self._timer.finished.wait(seconds)

    def raise_if_passed(self, source: str) -> None:
        """Raise :class:`SubmissionUnknownError` if it has passed: the answer read may be incomplete."""
        if self.has_passed:
            raise SubmissionUnknownError(f"{source} timed out: its answer is not complete after {self.seconds:g} s")

    def check_connection(self) -> None:
        """Raise :class:`TimeoutError` if it has passed: a reader cannot distinguish the shutdown from the end of the
        answer.
        """
        if self.has_passed:
            raise TimeoutError(f"no connection after {self.seconds:g} s")

    def __enter__(self) -> Deadline:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._forget()


def read_bounded(read_chunk: Callable[[int], bytes], size: int, source: str) -> bytes:
    """All data of ``read_chunk`` (which takes a number of bytes); :class:`SubmissionUnknownError` for more than
    ``size`` bytes.
    """
    found = bytearray()
    try:
        while data := read_chunk(min(_CHUNK_SIZE, size + 1 - len(found))):
            found += data
            if len(found) > size:
                raise AnswerTooLargeError(source, size)
        return bytes(found)
    except MemoryError:
        found.clear()
        raise SubmissionUnknownError(f"{source}: not enough memory for its answer") from None


class AnswerTooLargeError(SubmissionUnknownError):
    """An answer is larger than this many bytes."""

    def __init__(self, source: str, size: int):
        super().__init__(f"{source}: its answer has more than {size:,} bytes; check that this is the right service")


def run_bounded(
    argv: Sequence[str], stdin: IO[bytes] | None, limits: ResponseLimits, idle_timeout: float, source: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command and return what it printed.

    ``idle_timeout`` is the number of seconds without output. Raises :class:`SubmissionUnknownError` beyond a
    limit, and :class:`OSError` if it cannot be started.
    """
    with subprocess.Popen(
        argv, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        if stdin is None:
            _queries.add(process)
        try:
            out, error = _read_output(process, limits, idle_timeout, source)
        except BaseException as problem:
            process.kill()
            if isinstance(problem, MemoryError):
                raise SubmissionUnknownError(f"{source}: not enough memory for its answer") from None
            raise
        finally:
            _queries.discard(process)
    return subprocess.CompletedProcess(argv, process.returncode, out, error)


_queries: set[subprocess.Popen[bytes]] = set()
"""Commands without input that are running. A command with input is a submission, whose answer is recorded in the spool
even if this process ends before."""


def end_queries() -> None:
    """Kill the commands without input that are running: this process ends, and they would not."""
    for process in list(_queries):
        process.kill()


def _read_output(
    process: subprocess.Popen[bytes], limits: ResponseLimits, idle_timeout: float, source: str
) -> tuple[bytes, bytes]:
    assert process.stdout and process.stderr
    found = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    end = time.monotonic() + limits.timeout
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            patience = min(idle_timeout, end - time.monotonic())
            ready = selector.select(patience) if patience > 0 else []
            if not ready:
                raise _build_timeout_error(source, idle_timeout if patience == idle_timeout else limits.timeout)
            for key, _ in ready:
                data = os.read(key.fd, _CHUNK_SIZE)
                if not data:
                    selector.unregister(key.fileobj)
                found[key.fd] += data
            if sum(map(len, found.values())) > limits.max_bytes:
                raise AnswerTooLargeError(source, limits.max_bytes)
    try:
        process.wait(max(0.0, min(idle_timeout, end - time.monotonic())))
    except subprocess.TimeoutExpired:
        raise _build_timeout_error(source, idle_timeout) from None
    out, error = found.values()
    return bytes(out), bytes(error)


def _build_timeout_error(source: str, seconds: float) -> SubmissionUnknownError:
    return SubmissionUnknownError(f"{source} did not respond for {seconds:g} s")
