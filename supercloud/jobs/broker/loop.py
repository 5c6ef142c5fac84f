"""The broker as a service: it continues through outages, reports each of them once, and stops on request."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime
from types import FrameType
from typing import Protocol

from ...errors import SupercloudError

__all__ = ["GracePeriodExpired", "PlainReporter", "Reporter", "run_broker", "handle_stop_signals"]

_WARNING_PREFIX = "warning: "
_GRACE_PERIOD = 20.0
"""Seconds that the current step may take after a stop request; it can be aborted at any point."""


class StepRunner(Protocol):
    """An object that takes steps."""

    def step(self) -> int:
        """Run one cycle."""


class GracePeriodExpired(BaseException):
    """The current step exceeded the grace period."""


class Reporter:
    """Writes lines with the time. A warning that is repeated in the next step is the same outage: it is reported once,
    and so is its end. The same holds for all warnings about one subject, whatever their text.
    """

    def __init__(self, write: Callable[[str], None]):
        self._write = write
        self._previous_warnings: set[str] = set()
        self._current_warnings: set[str] = set()
        self._outages: dict[str, tuple[str, set[str]]] = {}
        """By subject: the first warning of each outage, and all reasons reported for it."""
        self._renewed: set[str] = set()

    def report(self, message: str, detail: str = "") -> None:
        """Report an event, or a warning if it starts with ``warning:``. Detail is written together with the message."""
        if message.startswith(_WARNING_PREFIX):
            known = message in self._previous_warnings or message in self._current_warnings
            self._current_warnings.add(message)
            if known:
                return
        self._write_lines(message, detail)

    def warn(self, message: str, subject: str, is_inconclusive: bool = False) -> None:
        """Warn about a subject, such as a connection: during its outage only a new reason is reported again.

        ``is_inconclusive`` is for warnings without a reason, such as a timeout. Different numbers are not a new reason.
        """
        self._renewed.add(subject)
        reason = re.sub(r"\d+", "", message)
        if subject not in self._outages:
            self._outages[subject] = message, {reason}
        elif is_inconclusive or reason in self._outages[subject][1]:
            return
        self._outages[subject][1].add(reason)
        self._write_lines(message)

    def renew(self, subject: str) -> None:
        """The outage of a subject is assumed to continue."""
        self._renewed.add(subject)

    def _write_lines(self, text: str, detail: str = "") -> None:
        stamp = datetime.now().astimezone().isoformat(timespec="seconds")
        for line in [*text.splitlines(), *detail.splitlines()]:
            self._write(f"{stamp} {line}")

    def end_step(self) -> None:
        """End a step: report the outages that are over."""
        for text in sorted(self._previous_warnings - self._current_warnings):
            self.report(f"over: {text.removeprefix(_WARNING_PREFIX).splitlines()[0]}")
        self._previous_warnings, self._current_warnings = self._current_warnings, set()
        for about in [about for about in self._outages if about not in self._renewed]:
            self._write_lines(f"over: {self._outages.pop(about)[0].removeprefix(_WARNING_PREFIX).splitlines()[0]}")
        self._renewed = set()


class PlainReporter:
    """Writes every message as it is, for a single step; ``has_warned`` is whether one was about a subject."""

    def __init__(self, write: Callable[[str], None]):
        self._write = write
        self.has_warned = False

    def report(self, message: str) -> None:
        """Report an event, or a warning if it starts with ``warning:``."""
        self._write(message)

    def warn(self, message: str, subject: str, is_inconclusive: bool = False) -> None:
        """Report a warning about a subject."""
        self.has_warned = True
        self._write(message)

    def renew(self, subject: str) -> None:
        """A single step has no lasting outages."""


def run_broker(broker: StepRunner, interval: float, reporter: Reporter, stop_event: threading.Event) -> None:
    """Take steps until ``stop_event``; after an error in one step the next one is taken."""
    while not stop_event.is_set():
        try:
            broker.step()
        except SupercloudError as error:
            reporter.report(f"{_WARNING_PREFIX}{error}")
        except (
            Exception
        ) as error:  # a defect of an engine, perhaps of another distribution: other engines are still served
            reporter.report(f"{_WARNING_PREFIX}{type(error).__name__}: {error}", traceback.format_exc())
        reporter.end_step()
        stop_event.wait(interval)


@contextlib.contextmanager
def handle_stop_signals() -> Iterator[threading.Event]:
    """Context of a service: SIGTERM and SIGINT set the event; a step that exceeds the grace period is aborted.

    The step then ends with :class:`GracePeriodExpired`.
    """
    ended = threading.Event()

    def request_stop(signal_number: int, frame: FrameType | None) -> None:
        ended.set()
        signal.setitimer(signal.ITIMER_REAL, _GRACE_PERIOD)

    def abort_step(signal_number: int, frame: FrameType | None) -> None:
        raise GracePeriodExpired

    before = {
        number: signal.signal(number, handler)
        for number, handler in (
            (signal.SIGTERM, request_stop),
            (signal.SIGINT, request_stop),
            (signal.SIGALRM, abort_step),
        )
    }
    try:
        yield ended
    except GracePeriodExpired:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
