"""The broker as a service: it goes on through outages, says each of them once, and ends when it is asked to."""

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

__all__ = ["Reporter", "Stopped", "run", "until_asked"]

_WARNING = "warning: "
_GRACE = 20.0
"""Seconds the step that is being taken gets when the broker is asked to end; it may be broken off anywhere."""


class Steps(Protocol):
    """What takes steps."""

    def step(self) -> int:
        """One look and what follows from it."""


class Stopped(BaseException):
    """The step that was being taken took too long to wait for."""


class Reporter:
    """Says lines with the time. A warning that is given again in the next step is the same outage: it is said once, and
    that it is over. So are all warnings about one thing, whatever their words.
    """

    def __init__(self, write: Callable[[str], None]):
        self._write = write
        self._said: set[str] = set()
        self._now: set[str] = set()
        self._open: dict[str, tuple[str, set[str]]] = {}
        """By what they are about: the first warning of each outage, and all reasons that were given for it."""
        self._kept: set[str] = set()

    def say(self, text: str, detail: str = "") -> None:
        """Something that happened; a warning where it begins with ``warning:``. Detail is said with what is said."""
        if text.startswith(_WARNING):
            known = text in self._said or text in self._now
            self._now.add(text)
            if known:
                return
        self._print(text, detail)

    def warn(self, text: str, about: str, vague: bool = False) -> None:
        """A warning about something, such as a connection: while its outage lasts, only another reason is said again.

        ``vague`` is for what gives none, as that nothing was answered in time. Numbers make no other reason.
        """
        self._kept.add(about)
        reason = re.sub(r"\d+", "", text)
        if about not in self._open:
            self._open[about] = text, {reason}
        elif vague or reason in self._open[about][1]:
            return
        self._open[about][1].add(reason)
        self._print(text)

    def keep(self, about: str) -> None:
        """What was warned of goes on, as far as anybody knows."""
        self._kept.add(about)

    def _print(self, text: str, detail: str = "") -> None:
        stamp = datetime.now().astimezone().isoformat(timespec="seconds")
        for line in [*text.splitlines(), *detail.splitlines()]:
            self._write(f"{stamp} {line}")

    def end_step(self) -> None:
        """All that a step had to say has been said."""
        for text in sorted(self._said - self._now):
            self.say(f"over: {text.removeprefix(_WARNING).splitlines()[0]}")
        self._said, self._now = self._now, set()
        for about in [about for about in self._open if about not in self._kept]:
            self._print(f"over: {self._open.pop(about)[0].removeprefix(_WARNING).splitlines()[0]}")
        self._kept = set()


def run(broker: Steps, every: float, reporter: Reporter, ended: threading.Event) -> None:
    """Take steps until ``ended``; whatever goes wrong in one of them, the next one is taken."""
    while not ended.is_set():
        try:
            broker.step()
        except SupercloudError as error:
            reporter.say(f"{_WARNING}{error}")
        except Exception as error:  # a defect of an engine, perhaps of another distribution: others go on being served
            reporter.say(f"{_WARNING}{type(error).__name__}: {error}", traceback.format_exc())
        reporter.end_step()
        ended.wait(every)


@contextlib.contextmanager
def until_asked() -> Iterator[threading.Event]:
    """Around a service: SIGTERM and SIGINT set the event; what takes longer than the grace is broken off."""
    ended = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        ended.set()
        signal.setitimer(signal.ITIMER_REAL, _GRACE)

    def break_off(number: int, frame: FrameType | None) -> None:
        raise Stopped

    before = {number: signal.signal(number, handler) for number, handler in
              ((signal.SIGTERM, ask), (signal.SIGINT, ask), (signal.SIGALRM, break_off))}  # fmt: skip
    try:
        yield ended
    except Stopped:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
