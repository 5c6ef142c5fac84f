"""Every error this package raises on purpose, and the finding they carry.

::

    SupercloudError                 something a user can act on; never a bug
    ├── InputError                  the input is wrong                                  (exit code 2)
    │   ├── SpecError               a spec, job or fleet file; carries every finding at once
    │   ├── CatalogError            a catalog or overlay file
    │   ├── UnknownName             nothing in the catalog (or registry) has this name
    │   ├── QuantityError           a text is no quantity of the dimension asked for
    │   └── OutputError             an output folder that is not ours to replace
    └── WorkError                   the input was fine, the work failed                 (exit code 1)
        ├── StoreError              the job store is locked, full, damaged or too new
        ├── EngineError             an engine (Slurm, this machine …) refused or did not answer
        │   └── UnusableEngine      it stays out of reach until somebody corrects what the message says
        └── JobFailed               a job ended in another state than COMPLETED

``InputError`` also is a ``ValueError`` and ``UnknownNameError`` a ``LookupError``, so callers may catch by kind.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

__all__ = [
    "CatalogError",
    "EngineError",
    "Finding",
    "InputError",
    "JobFailedError",
    "Level",
    "OutputError",
    "QuantityError",
    "SpecError",
    "StoreError",
    "SupercloudError",
    "UnknownNameError",
    "UnusableEngine",
    "OperationError",
    "require_type",
    "suggest_nearest",
]

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing: where, what with the value, and what next.

    ``check`` names the rule that found it (what ``suppress:`` refers to), ``path`` is the place inside the document
    (``pools[0].machine``); ``file`` and ``line`` are known when the document came from a file.
    """

    check: str
    level: Level
    path: str
    problem: str
    hint: str = ""
    file: str = ""
    line: int = 0

    def with_location(self, file: str, line: int) -> Finding:
        """The same finding with the place in the file it came from."""
        return replace(self, file=file, line=line)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        hint = f"\n    → {self.hint}" if self.hint else ""
        return f"{place}{self.path or '(document)'}: {self.problem} [{self.check}]{hint}"


class SupercloudError(Exception):
    """Base of everything raised on purpose; ``exit_code`` is what the command line returns for it."""

    exit_code = 1


class InputError(SupercloudError, ValueError):
    """The input is wrong; ``findings`` lists every problem that was found in it."""

    exit_code = 2

    def __init__(self, message: str, findings: Sequence[Finding] = ()):
        super().__init__(message)
        self.findings = tuple(findings)

    def __str__(self) -> str:
        head = str(self.args[0])
        return "\n".join([head, *(str(finding) for finding in self.findings)])


class SpecError(InputError):
    """A spec, job or fleet document is wrong."""


class CatalogError(InputError):
    """A file of the catalog, or of an overlay, is wrong."""


class UnknownNameError(InputError, LookupError):
    """Nothing has this name; the nearest names are offered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]):
        self.kind, self.name, self.known = kind, name, tuple(sorted(known))
        super().__init__(f"no {kind} is called {name!r}")

    @property
    def hint(self) -> str:
        """What to write instead, as far as one can tell."""
        return suggest_nearest(self.name, self.known)

    def __str__(self) -> str:
        return f"{self.args[0]}; {self.hint}" if self.hint else str(self.args[0])


class QuantityError(InputError):
    """A text is no quantity of the dimension asked for."""


class OutputError(InputError):
    """An output folder holds something that supercloud did not write."""


class OperationError(SupercloudError):
    """The input was fine, the work failed."""


class StoreError(OperationError):
    """The job store cannot be used: locked, full, damaged, or written by a newer version."""


class EngineError(OperationError):
    """An engine refused, did not answer, or answered something that makes no sense."""


class UnusableEngine(EngineError):
    """An engine is out of reach until somebody corrects what the message says, such as its connection: waiting does not
    help."""


class JobFailedError(OperationError):
    """A job ended in another state than COMPLETED."""

    def __init__(self, message: str, state: str, exit_code: int | None = None):
        super().__init__(message)
        self.state = state
        self.job_exit_code = exit_code


def require_type(value: object, types: type | tuple[type, ...], requirement: str, hint: str) -> None:
    """Refuse an argument of another kind; ``requirement`` is the function with what it takes, ``hint`` how to make
    that.

    >>> check_type("cluster.yaml", dict, "f takes a plan", "make one with resolve")
    Traceback (most recent call last):
    supercloud.errors.InputError: f takes a plan, not the str 'cluster.yaml'; make one with resolve
    """
    if not isinstance(value, types):
        shown = f" {str(value)[:80]!r}" if isinstance(value, str) else ""
        raise InputError(f"{requirement}, not the {type(value).__name__}{shown}; {hint}")


def suggest_nearest(name: str, known_names: Iterable[str]) -> str:
    """A hint that offers the names nearest to ``name``, or all of them when they are few.

    >>> nearest("dgx-h10", ["dgx-h100", "dgx-b200"])
    'did you mean dgx-h100?'
    >>> nearest("1.20", ["1.31", "1.32"])
    'known: 1.31, 1.32'
    >>> nearest("time", ["image", "time_limit"])
    'did you mean time_limit?'
    """
    names = sorted(set(known_names))
    lower = {item.lower(): item for item in names}
    asked = str(name).lower()[:80]
    # a name that has all words of what was asked for is meant rather than one with similar letters
    whole = sorted((item for item in lower if _split_words(asked) <= _split_words(item)), key=len)
    close = difflib.get_close_matches(asked, list(lower), n=3, cutoff=0.75 if whole else 0.6)
    close = [lower[item] for item in dict.fromkeys([*close, *whole])][:3]
    if len(names) <= 12 and all(item.replace(".", "").isdigit() for item in names):
        close = []  # releases: the one with the nearest digits is not what was meant
    if close:
        return f"did you mean {' or '.join(close)}?"
    if not names:
        return ""
    if len(names) <= 12:
        return f"known: {', '.join(names)}"
    return f"{len(names)} names are known, among them {', '.join(names[:5])} …"


def _split_words(name: str) -> set[str]:
    """The words of a name; a set that is in no other where it has none."""
    return {word for word in re.split(r"[-_/\s]+", name) if word} or {""}
