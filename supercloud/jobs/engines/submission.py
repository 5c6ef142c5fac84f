"""What passes between the job API and an engine: what an engine is to do, and whose job it is."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

__all__ = ["JobIdentity", "Submission", "compute_record_digest", "compute_spec_digest"]


class JobIdentity(NamedTuple):
    """What an engine keeps with a job, so that whoever finds it there can tell whose it is."""

    key: str
    spec: str = ""
    """:func:`compute_spec_digest` of what was asked for; empty where an earlier version submitted it."""
    record: str = ""
    """:func:`compute_record_digest` of its record; empty where an earlier version submitted it."""

    def is_same_record(self, other: JobIdentity | None) -> bool:
        """Whether both jobs were certainly submitted for one record: one of them is the copy of the other."""
        return bool(self.record) and self == other

    def may_be_same_job(self, other: JobIdentity) -> bool:
        """Whether both have one key, and nothing says that they were submitted for different specs."""
        return self.key == other.key and (self.spec == other.spec or not (self.spec and other.spec))


@dataclass(frozen=True)
class Submission:
    """Everything an engine is going to do for a job, decided. Its text is the dry run: the two cannot differ."""

    key: str
    """The job's idempotency key; the engine can find its job by it."""
    argv: tuple[str, ...]
    """The program that is started, with its arguments; no shell reads them."""
    stdin: str = ""
    """A script that goes with it, or an object as JSON."""
    env: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str | int | float] = field(default_factory=dict)
    """What else the engine needs to know."""
    recorded: float = 0.0
    """When its job was recorded, in seconds since 1970: a key that was freed is used again by another job."""
    spec: str = ""
    """Digest of what its user asked for (:func:`compute_spec_digest`). The engine keeps it with the job, so that a
    store which has lost the record can tell whether a job found by its key is the one that is asked for now."""

    @property
    def identity(self) -> JobIdentity:
        """What the engine keeps with the job."""
        return JobIdentity(self.key, self.spec, compute_record_digest(self.recorded))

    @property
    def digest(self) -> str:
        """The same for what is submitted again for the same job, another one for whatever else has its key."""
        whole = json.dumps([self.argv, self.stdin, sorted(self.env.items()), self.recorded])
        return hashlib.sha256(whole.encode()).hexdigest()

    def __str__(self) -> str:
        lines = [f"# {name}: {value}" for name, value in sorted(self.settings.items())]
        lines += [f"{name}={shlex.quote(value)}" for name, value in sorted(self.env.items())]
        lines.append(shlex.join(self.argv))
        return "\n".join(lines) + "\n" + (f"\n{_format_stdin(self.stdin)}" if self.stdin else "")

    def to_json(self) -> str:
        """As text that :meth:`from_json` reads."""
        return json.dumps(vars(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Submission:
        """What :meth:`to_json` wrote, in this version or another one; what is not known here is left out."""
        data = json.loads(text)
        known = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        return cls(**known | {"argv": tuple(data["argv"])})


def compute_spec_digest(spec: str) -> str:
    """What an engine keeps of a job's spec, as the store has it: short enough for a comment of Slurm."""
    return hashlib.sha256(spec.encode()).hexdigest()[:16]


def compute_record_digest(recorded: float) -> str:
    """What an engine keeps of a job's record, by when that was made: two stores may have jobs of one key and spec.

    Empty for a job that no store has recorded.
    """
    return hashlib.sha256(repr(recorded).encode()).hexdigest()[:16] if recorded else ""


def _format_stdin(text: str) -> str:
    """An object as people write it; whatever reads the one reads the other."""
    if not text.startswith("{"):
        return text
    import yaml

    return str(yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=120))
