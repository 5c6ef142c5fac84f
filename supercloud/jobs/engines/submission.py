"""Data exchanged between the job API and an engine: the submission, and the identity of a job."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

__all__ = ["JobIdentity", "Submission", "compute_record_digest", "compute_spec_digest"]


class JobIdentity(NamedTuple):
    """The data that an engine keeps with a job to identify it."""

    key: str
    spec: str = ""
    """:func:`compute_spec_digest` of its spec; empty if an earlier version submitted it."""
    record: str = ""
    """:func:`compute_record_digest` of its record; empty if an earlier version submitted it."""

    def is_same_record(self, other: JobIdentity | None) -> bool:
        """Whether both jobs were certainly submitted for one record: one of them is a copy of the other."""
        return bool(self.record) and self == other

    def is_other_job(self, other: JobIdentity | None) -> bool:
        """Whether both are certainly of different jobs; data that one of them lacks is not compared."""
        return other is not None and any(mine and its and mine != its for mine, its in zip(self, other, strict=True))

    def can_be_same_job(self, other: JobIdentity) -> bool:
        """Whether both have the same key, and are not known to be of different specs."""
        return self.key == other.key and (self.spec == other.spec or not (self.spec and other.spec))


@dataclass(frozen=True)
class Submission:
    """The complete submission of a job to an engine. The dry run prints it, so both are always the same."""

    key: str
    """The job's idempotency key; the engine can find its job by it."""
    argv: tuple[str, ...]
    """The program that is started, with its arguments; no shell reads them."""
    stdin: str = ""
    """A script that goes with it, or an object as JSON."""
    env: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str | int | float] = field(default_factory=dict)
    """Further settings for the engine."""
    recorded: float = 0.0
    """When its job was recorded, in seconds since 1970, as a freed key may be used again by another job."""
    spec: str = ""
    """Digest of the user's spec (:func:`compute_spec_digest`). The engine keeps it with the job, so that a store which
    has lost the record can tell whether a job found by its key is the requested one."""

    @property
    def identity(self) -> JobIdentity:
        """The identity that the engine keeps with the job."""
        return JobIdentity(self.key, self.spec, compute_record_digest(self.recorded))

    @property
    def digest(self) -> str:
        """Equal for repeated submissions of the same job, different for other submissions with its key."""
        whole = json.dumps([self.argv, self.stdin, sorted(self.env.items()), self.recorded])
        return hashlib.sha256(whole.encode()).hexdigest()

    def __str__(self) -> str:
        lines = [f"# {name}: {value}" for name, value in sorted(self.settings.items())]
        lines += [f"{name}={shlex.quote(value)}" for name, value in sorted(self.env.items())]
        lines.append(shlex.join(self.argv))
        return "\n".join(lines) + "\n" + (f"\n{_format_stdin(self.stdin)}" if self.stdin else "")

    def to_json(self) -> str:
        """Serialize for :meth:`from_json`."""
        return json.dumps(vars(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Submission:
        """Read the output of :meth:`to_json` of this or another version; unknown fields are ignored."""
        data = json.loads(text)
        known = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        return cls(**known | {"argv": tuple(data["argv"])})


def compute_spec_digest(spec: str) -> str:
    """Digest of a job's spec in its stored form, short enough for a Slurm comment."""
    return hashlib.sha256(spec.encode()).hexdigest()[:16]


def compute_record_digest(recorded: float) -> str:
    """Digest of a job's record, from its time: two stores may have jobs with the same key and spec.

    Empty for a job without a record.
    """
    return hashlib.sha256(repr(recorded).encode()).hexdigest()[:16] if recorded else ""


def _format_stdin(text: str) -> str:
    """A JSON object formatted for reading."""
    if not text.startswith("{"):
        return text
    import yaml

    return str(yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=120))
