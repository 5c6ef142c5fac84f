"""Classification of errors: those after which a request may have reached Slurm's controller, and others.

After such an error the job is looked up before its submission is repeated. The errors are data:
``communication-errors.json``.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["is_refusal", "is_unreachable", "can_have_arrived", "can_output_mean_arrival"]

_NUMBER_FIELDS = ("error_number", "error_code", "errno")
"""Fields of an error's number; releases before 23.02 have the later names (v0.0.38 of slurmrestd)."""
_FAILURE_PREFIX = "submission failed:"
"""Prefix of the reason in sbatch's output (``Batch job submission failed: …``)."""


def can_have_arrived(number: int) -> bool:
    """Whether the controller may have received a request in spite of an error of Slurm or of the system.

    Numbers missing in the table (newer releases) count as such if they are communication errors.
    """
    table = _load_table()
    if number in _list_system_numbers() or str(number) in table["may_have_arrived"]:
        return True
    is_communication = any(first <= number <= last for first, last in table["sections"])
    return is_communication and str(number) not in table["not_taken"]


def can_output_mean_arrival(text: str) -> bool:
    """The same for the output of a command."""
    for message, _ in _load_table()["not_taken"].values():
        text = text.replace(message, "")
    if any(message in text for message in _load_table()["may_have_arrived"].values()):
        return True
    reason = text.rpartition(_FAILURE_PREFIX)[2] if _FAILURE_PREFIX in text else ""
    return any(os.strerror(number) in reason for number in _list_system_numbers())


def is_unreachable(text: str) -> bool:
    """Whether the output of a command or of slurmrestd has an error of a controller that cannot be reached."""
    table = _load_table()
    return any(table["not_taken"][number][0] in text for number in table["no_connection"])


def is_refusal(errors: object) -> bool:
    """Whether the ``errors`` of an answer with an HTTP status of 5xx are refusals by the controller.

    slurmrestd gives each Slurm error its number, in one of ``_NUMBER_FIELDS``, and most of them status 500. Errors
    without a number were created by something in between, or are not known to be of Slurm.
    """
    items = errors if isinstance(errors, list) else []
    return bool(items) and all(_is_refused_item(item) for item in items)


def _is_refused_item(item: object) -> bool:
    number = next((item[name] for name in _NUMBER_FIELDS if name in item), None) if isinstance(item, Mapping) else None
    return isinstance(number, int) and not isinstance(number, bool) and number != 0 and not can_have_arrived(number)


@cache
def _load_table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(files(__package__).joinpath("communication-errors.json").read_text())
    return table


@cache
def _list_system_numbers() -> frozenset[int]:
    return frozenset(
        number
        for name in _load_table()["system_may_have_arrived"]
        if (number := getattr(errno, name, None)) is not None
    )
