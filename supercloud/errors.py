"""The errors of this package, and the finding that they contain.

::

    SupercloudError                 a user can act on it; never a bug
    ├── InputError                  the input is wrong                                  (exit code 2)
    │   ├── SpecError               a spec, job or fleet file; with all findings
    │   ├── CatalogError            a catalog or overlay file
    │   ├── UnknownNameError        nothing in the catalog (or registry) has this name
    │   ├── QuantityError           a text is not a quantity of the required dimension
    │   └── OutputError             an output directory that must not be replaced
    └── OperationError              the input was valid, but the operation failed       (exit code 1)
        ├── StoreError              the job store is locked, full, damaged or too new
        ├── EngineError             an engine (Slurm, this machine …) refused or did not respond
        │   ├── EngineConfigurationError unavailable until a user fixes the reported problem
        │   ├── EngineUnreachableError   no connection was made, so that nothing was sent
        │   └── SubmissionUnknownError   a submission got no answer: the engine may have the job
        └── JobFailedError          a job ended in another state than COMPLETED

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
    "MAX_SHOWN",
    "NEAREST",
    "OutputError",
    "QuantityError",
    "SpecError",
    "StoreError",
    "SubmissionUnknownError",
    "SupercloudError",
    "UnknownNameError",
    "EngineConfigurationError",
    "EngineUnreachableError",
    "OperationError",
    "require_type",
    "suggest_nearest",
]

Level = Literal["error", "warning", "note"]
MAX_SHOWN = 200
"""Maximum number of problems of one document, or findings of one plan, that are listed for a reader."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or a note: path, problem with the value, and fix.

    ``check`` is the check that reported it (used in ``suppress:``), ``path`` is the path inside the document
    (``pools[0].machine``); ``file`` and ``line`` are set if the document was read from a file.
    """

    check: str
    level: Level
    path: str
    problem: str
    hint: str = ""
    file: str = ""
    line: int = 0

    def with_location(self, file: str, line: int) -> Finding:
        """The same finding with its file and line.

        Args:
            file: The file of the document.
            line: The line in it, from 1.
        """
        return replace(self, file=file, line=line)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        hint = f"\n    → {self.hint}" if self.hint else ""
        return f"{place}{self.path or '(document)'}: {self.problem} [{self.check}]{hint}"


class SupercloudError(Exception):
    """Base class of all errors of this package; ``exit_code`` is what the command line returns for it."""

    exit_code = 1


class InputError(SupercloudError, ValueError):
    """The input is wrong; ``findings`` lists all problems."""

    exit_code = 2

    def __init__(self, message: str, findings: Sequence[Finding] = ()):
        super().__init__(message)
        self.findings = tuple(findings)

    def __str__(self) -> str:
        head = str(self.args[0])
        return "\n".join([head, *(str(finding) for finding in self.findings)])


class SpecError(InputError):
    """A spec, job or fleet document is invalid."""


class CatalogError(InputError):
    """A file of the catalog, or of an overlay, is invalid."""


class UnknownNameError(InputError, LookupError):
    """A name is unknown; the nearest names are suggested."""

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str = ""):
        self.kind, self.name, self.known, self.advice = kind, name, tuple(sorted(known)), advice
        super().__init__(f"unknown {kind} {name!r}")

    @property
    def hint(self) -> str:
        """The suggested names, and the advice unless these are similar or all; empty if there is neither."""
        names = suggest_nearest(self.name, self.known)
        return "; ".join(filter(None, (names, self.advice))) if not names or names.endswith(_MORE) else names

    def __str__(self) -> str:
        return f"{self.args[0]}; {self.hint}" if self.hint else str(self.args[0])


class QuantityError(InputError):
    """A text is not a quantity of the required dimension."""


class OutputError(InputError):
    """An output directory contains files that supercloud did not write."""


class OperationError(SupercloudError):
    """The input was valid, but the operation failed."""


class StoreError(OperationError):
    """The job store cannot be used: locked, full, damaged, or written by a newer version."""


class EngineError(OperationError):
    """An engine rejected a request, did not respond, or sent an invalid response."""


class EngineConfigurationError(EngineError):
    """An engine is unavailable until a user fixes the reported problem, such as its connection: waiting does not
    help.
    """


class EngineUnreachableError(EngineError):
    """An engine could not be reached, and it is certain that it has received nothing: the same request may be repeated
    later.
    """


class SubmissionUnknownError(EngineError):
    """A submission got no answer: the engine may have the job. It is looked up before it is submitted again."""


class JobFailedError(OperationError):
    """A job ended in another state than COMPLETED."""

    def __init__(self, message: str, state: str, exit_code: int | None = None):
        super().__init__(message)
        self.state = state
        self.job_exit_code = exit_code


def require_type(value: object, types: type | tuple[type, ...], requirement: str, hint: str) -> None:
    """Reject an argument of another type; ``requirement`` is the function with its required argument, ``hint`` how to
    get one.

    >>> require_type("cluster.yaml", dict, "f requires a plan", "build one with resolve")
    Traceback (most recent call last):
    supercloud.errors.InputError: f requires a plan, not the str 'cluster.yaml'; build one with resolve
    """
    if not isinstance(value, types):
        shown = f" {str(value)[:80]!r}" if isinstance(value, str) else ""
        raise InputError(f"{requirement}, not the {type(value).__name__}{shown}; {hint}")


_MAX_LISTED_CHARACTERS = 200
NEAREST = "did you mean "
_MORE = " …"
"""Start of a hint with similar names; other hints of :func:`suggest_nearest` list known ones."""


def suggest_nearest(name: str, known_names: Iterable[str]) -> str:
    """A hint with the names nearest to ``name``, or all names if there are few.

    >>> suggest_nearest("dgx-h10", ["dgx-h100", "gb200-nvl72"])
    'did you mean dgx-h100?'
    >>> suggest_nearest("1.20", ["1.31", "1.32"])
    'known: 1.31, 1.32'
    >>> suggest_nearest("time", ["image", "time_limit"])
    'did you mean time_limit?'
    >>> suggest_nearest("p5", ["p4d.24xlarge", "p5e.48xlarge", "p5.48xlarge"])
    'did you mean p5.48xlarge or p5e.48xlarge?'
    """
    names = sorted(set(known_names))
    close = _find_similar(str(name).lower()[:80], names)
    if close:
        return f"{NEAREST}{' or '.join(close)}?"
    if not names:
        return ""
    if len(names) <= 12 or len(", ".join(names)) <= _MAX_LISTED_CHARACTERS:
        return f"known: {', '.join(names)}"
    return f"{len(names)} known names, such as {', '.join(names[:5])}{_MORE}"


def _find_similar(asked: str, names: Sequence[str]) -> list[str]:
    """At most three names that are similar to a text in lower case, the most similar first."""
    if len(names) <= 12 and all(item.replace(".", "").isdigit() for item in names):
        return []  # releases: the one with the nearest digits is not a useful suggestion
    lower = {item.lower(): item for item in names}
    # a name with all words of the unknown one is preferred to one with similar letters
    whole = sorted((item for item in lower if _split_words(asked) <= _split_words(item)), key=len)
    # and one that begins with it: p5 is p5.48xlarge rather than p5e.48xlarge, and neither has similar letters
    starts = [item for item in lower if len(asked) > 1 and item.startswith(asked) and item not in whole]
    whole += sorted(starts, key=lambda item: (item[len(asked) :][:1].isalnum(), len(item), item))
    close = difflib.get_close_matches(asked, list(lower), n=3, cutoff=0.75 if whole else 0.6)
    return [lower[item] for item in dict.fromkeys([*close, *whole])][:3]


def _split_words(name: str) -> set[str]:
    """The words of a name; a unique set if it has none."""
    return {word for word in re.split(r"[-_/\s]+", name) if word} or {""}
