"""Mappings in, lines of Slurm's configuration language out.

Only this module drops ``None``, and it rejects keys that the release does not support: Slurm would reject the whole
file, on every host and in every command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from ....catalog import SlurmRelease
from ....primitives.quantity import Duration

__all__ = [
    "ConfigWriter",
    "Section",
    "Settings",
    "UnknownKeyError",
    "Value",
    "join_items",
    "format_duration",
]

Value = str | int | bool | Sequence[str] | None
Settings = Mapping[str, Value]
Section = Literal["slurm", "node", "partition", "nodeset", "gres", "cgroup", "slurmdbd", "job_container", "topology"]

# The first key of a record of slurm.conf is a key of slurm.conf itself.
_RECORD_KEYS = {"node": "NodeName", "partition": "PartitionName", "nodeset": "NodeSet"}


class UnknownKeyError(AssertionError):
    """The release does not support a key that is to be written: an internal error, never one of the user."""


class ConfigWriter:
    """Writes configuration lines for one Slurm release."""

    def __init__(self, release: SlurmRelease):
        self.release = release
        self._known_keys = {
            section: {key.lower() for key in keys} for section, keys in release.keys.model_dump().items()
        }
        for section, opener in _RECORD_KEYS.items():
            if self.has_key("slurm", opener):
                self._known_keys[section].add(opener.lower())

    def has_key(self, section: Section, key: str) -> bool:
        """Whether the release supports a key; keys are case-insensitive."""
        return key.lower() in self._known_keys[section]

    def format_settings(self, section: Section, settings: Settings) -> list[str]:
        """Format one line per key; a sequence repeats the key."""
        lines = []
        for key, value in self._iter_settings(section, settings):
            lines += [f"{key}={_format_value(item)}" for item in ((value,) if isinstance(value, str | int) else value)]
        return lines

    def format_record(self, section: Section, settings: Settings) -> str:
        """Format one line of several keys; a sequence is joined by commas."""
        return " ".join(
            f"{key}={_format_value(value if isinstance(value, str | int) else ','.join(value))}"
            for key, value in self._iter_settings(section, settings)
        )

    def _iter_settings(self, section: Section, settings: Settings) -> Iterator[tuple[str, str | int | Sequence[str]]]:
        for key, value in settings.items():
            if value is None:
                continue
            if not self.has_key(section, key):
                raise UnknownKeyError(f"Slurm {self.release.name} does not support the {section} key {key}")
            yield key, value


def _format_value(value: str | int) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    # an unescaped # starts a comment, an unescaped \ is dropped; at the end of a line it continues the line
    text = str(value).replace("\\", r"\\").replace("#", r"\#")
    return f'"{text}"' if not text or " " in text else text


def join_items(items: Iterable[str]) -> str | None:
    """Join items with commas; None if there are none."""
    return ",".join(items) or None


def format_duration(duration: Duration) -> str:
    """Format a time as Slurm writes it: ``7-00:00:00``.

    >>> format_duration(Duration("90 min"))
    '01:30:00'
    """
    seconds = duration.ceil("s")
    days, clock = divmod(seconds, 86400)
    text = f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
    return f"{days}-{text}" if days else text
