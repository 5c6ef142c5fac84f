"""Mappings in, lines of Slurm's configuration language out.

``None`` is dropped here and nowhere else, and a key that the release does not know gets no further than here: Slurm
would refuse the whole file for it, on every host and in every command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from ...._version import __version__
from ....catalog import SlurmRelease
from ....primitives.quantity import Duration

__all__ = [
    "ConfigWriter",
    "Section",
    "Settings",
    "UnknownKeyError",
    "Value",
    "format_header",
    "join_items",
    "format_duration",
]

Value = str | int | bool | Sequence[str] | None
Settings = Mapping[str, Value]
Section = Literal["slurm", "node", "partition", "nodeset", "gres", "cgroup", "slurmdbd", "job_container", "topology"]

# The key that opens a record of slurm.conf is a key of slurm.conf itself.
_RECORD_KEYS = {"node": "NodeName", "partition": "PartitionName", "nodeset": "NodeSet"}


class UnknownKeyError(AssertionError):
    """A key was about to be written that the release does not know: a mistake of ours, never of the user."""


class ConfigWriter:
    """Writes lines that one release of Slurm reads."""

    def __init__(self, release: SlurmRelease):
        self.release = release
        self._known_keys = {
            section: {key.lower() for key in keys} for section, keys in release.keys.model_dump().items()
        }
        for section, opener in _RECORD_KEYS.items():
            if self.has_key("slurm", opener):
                self._known_keys[section].add(opener.lower())

    def has_key(self, section: Section, key: str) -> bool:
        """Whether the release knows a key; Slurm does not care about case."""
        return key.lower() in self._known_keys[section]

    def format_settings(self, section: Section, settings: Settings) -> list[str]:
        """A line a key; a sequence is a key given several times."""
        lines = []
        for key, value in self._iter_settings(section, settings):
            lines += [f"{key}={_format_value(item)}" for item in ((value,) if isinstance(value, str | int) else value)]
        return lines

    def format_record(self, section: Section, settings: Settings) -> str:
        """One line of several keys; a sequence is joined by commas."""
        return " ".join(
            f"{key}={_format_value(value if isinstance(value, str | int) else ','.join(value))}"
            for key, value in self._iter_settings(section, settings)
        )

    def _iter_settings(self, section: Section, settings: Settings) -> Iterator[tuple[str, str | int | Sequence[str]]]:
        for key, value in settings.items():
            if value is None:
                continue
            if not self.has_key(section, key):
                raise UnknownKeyError(f"Slurm {self.release.name} does not know {key} among its {section} keys")
            yield key, value


def _format_value(value: str | int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    # a bare # begins a comment, a bare \ is dropped, and at the end of a line it joins the next one
    text = str(value).replace("\\", r"\\").replace("#", r"\#")
    return f'"{text}"' if not text or " " in text else text


def format_header(plan_name: str) -> str:
    """The first line of every rendered file."""
    return f"# made by supercloud {__version__} from the spec {plan_name}; edits are lost"


def join_items(items: Iterable[str]) -> str | None:
    """Items with commas, or nothing where there are none."""
    return ",".join(items) or None


def format_duration(duration: Duration) -> str:
    """A time as Slurm writes it: ``7-00:00:00``.

    >>> span(Duration("90 min"))
    '01:30:00'
    """
    seconds = duration.ceil("s")
    days, clock = divmod(seconds, 86400)
    text = f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
    return f"{days}-{text}" if days else text
