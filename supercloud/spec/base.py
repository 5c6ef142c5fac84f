"""Common parts of all spec models: closed, frozen, documented fields, and a few shared types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    WithJsonSchema,
)
from pydantic_core import core_schema

from ..primitives.quantity import Duration, Quantity, Rate, Size

__all__ = [
    "Count",
    "DataRate",
    "DeviceName",
    "Flag",
    "Interfaces",
    "Links",
    "MachineCount",
    "Model",
    "Name",
    "Natural",
    "NodeCount",
    "Number",
    "OptionValue",
    "PairLinks",
    "Parameters",
    "LocatedProblem",
    "LocatedProblemsError",
    "PositiveRatio",
    "Ratio",
    "ReleaseText",
    "StoredSize",
    "Text",
    "IntegerRange",
]


class Model(BaseModel):
    """Base of all spec and catalog models: unknown keys are errors, instances do not change."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, validate_default=False, allow_inf_nan=False
    )


def _to_integer(value: object) -> object:
    # `1e3` in YAML is a float; a float without a fraction is accepted as an integer
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _to_release_text(value: object) -> object:
    # YAML reads 22.05 as a number; the loader keeps the text of the file
    return getattr(value, "text", value)


_Q = TypeVar("_Q", bound=Quantity)


def require_positive(value: _Q) -> _Q:
    """A quantity over 0: engines interpret a time of 0 as no limit, and divisions need a divisor.

    Raises :class:`ValueError` for others.
    """
    if value.base <= 0:
        raise ValueError(f"{value} must be greater than 0")
    return value


PositiveDuration = Annotated[Duration, AfterValidator(require_positive)]


def build_maximum(maximum: _Q) -> AfterValidator:
    """An upper bound of a quantity: more than any site has, and small enough to be planned."""

    def check_maximum(value: _Q) -> _Q:
        if value > maximum:
            raise ValueError(
                f"{value.to(maximum.display_units[-1]):.6g} {maximum.display_units[-1]} is more than {maximum}, the "
                "supported maximum"
            )
        return value

    return AfterValidator(check_maximum)


MAX_STORED = Size("1000 EB")
MAX_RATE = Rate("1000 PB/s")
StoredSize = Annotated[Size, build_maximum(MAX_STORED)]
"""Data at rest, of one file system, data set or disk."""
DataRate = Annotated[Rate, build_maximum(MAX_RATE)]
"""Of a whole file system, or of a link."""


_PARAMETER_COUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMBT])")
_EXPONENTS = {"K": 3, "M": 6, "B": 9, "T": 12}


def _parse_parameters(value: object) -> object:
    # 70B is the usual notation for the size of a model
    if not isinstance(value, str):
        return value
    match = _PARAMETER_COUNT.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is not a number of parameters; write 70B, or 70e9")
    return float(f"{match[1]}e{_EXPONENTS[match[2]]}")


NAME_PATTERN = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
# Slurm reads names of partitions as they are written; commas, spaces, brackets and quotes have meanings in its files.
PARTITION_PATTERN = r"^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$"
Name = Annotated[
    str,
    Field(
        pattern=NAME_PATTERN,
        max_length=40,
        json_schema_extra={
            "typeName": "name",
            "form": "lower-case letters, digits and inner dashes, starting with a letter",
        },
    ),
]
# Control characters of ASCII and ISO 8859-1, and the line separators of Unicode: readers of YAML, of terminals and of
# line-based files give them a special meaning.
_LINE_CHARACTER = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]"
Text = Annotated[str, Field(min_length=1, max_length=4096, pattern=rf"^{_LINE_CHARACTER}+$")]
OptionValue = (
    Annotated[str, Field(strict=True, max_length=4096, pattern=rf"^{_LINE_CHARACTER}*$")]
    | Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
    | StrictBool
)
"""A value of a third-party option: one line of text, a whole number, or a truth value."""
# Linux: a name of a network interface has at most 15 characters (IFNAMSIZ in linux/if.h), one of an RDMA device at
# most 63 (IB_DEVICE_NAME_MAX in rdma/ib_verbs.h). Characters that shells and tables give a meaning are excluded.
_INTERFACE = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}"
Interfaces = Annotated[
    str,
    Field(
        pattern=rf"^{_INTERFACE}( *, *{_INTERFACE})*$",
        max_length=1024,
        examples=["ib0,ib1"],
    ),
]
MIG_PROFILE = r"^[0-9]{1,3}g\.[0-9]{1,5}gb(\+[a-z.]+)?$"
DeviceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]


@dataclass(frozen=True)
class IntegerRange:
    """Annotation of a whole number: ``Annotated[int, IntegerRange(minimum, maximum)]``. Both bounds are in the JSON
    Schema too.

    A ``Field(le=…)`` around it would be checked, but pydantic cannot put bounds of a validated value into the schema.
    """

    minimum: int
    maximum: int

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> core_schema.CoreSchema:
        number = core_schema.int_schema(strict=True, ge=self.minimum, le=self.maximum)
        return core_schema.no_info_before_validator_function(_to_integer, number)


Count = Annotated[int, IntegerRange(1, 10_000_000)]
Natural = Annotated[int, IntegerRange(0, 10_000_000)]
# Bounds of counts: more than any site has, and few enough to be planned in seconds. Every list and every mapping with
# free keys has one (tests/spec/test_schema_bounds.py).
MAX_LISTED = 1_000
"""Entries of a list that is written by hand: with more, the file is a mistake, and an answer would take minutes."""
MAX_FABRICS = 64
"""Networks between machines, and so also of one machine."""
MAX_ZONES = 64
"""Availability zones of one cluster: no region has so many."""
MAX_RANGES = 256
"""Ranges of addresses, or subnets, of one kind in a network: more than clouds permit in one."""
MAX_TENANTS = 4096
"""Tenants of a cluster or a fleet, and so also those that a partition admits."""
MAX_USERS = 10_000
"""People with an account on a cluster, and so also those of a tenant."""
MAX_CHOICES = 16
"""Items of which few kinds exist: media of cables, levels of locality, weights of placement."""
MAX_ARGUMENTS = 32_768
"""Arguments of a program, or variables of its environment: with 64 bytes each, which includes the pointer, they fill
ARG_MAX of Linux, 2 MiB with the default limit of the stack; the kernel refuses to start a program with more."""
MAX_DEPENDENCIES = 10_000
"""Jobs that one job waits for."""
MAX_EXIT_CODES = 256
"""Exit codes that a process can have."""
MAX_NODES = 131_072
"""Nodes of a pool, and so also those that one job names."""
MAX_MACHINES = 65_536
"""Of one group of equal machines that are not nodes: servers of a file system, service machines."""
NodeCount = Annotated[int, IntegerRange(1, MAX_NODES)]
MachineCount = Annotated[int, IntegerRange(1, MAX_MACHINES)]
Links = Annotated[int, IntegerRange(0, 65_536)]
"""Links of one kind in a whole network."""
PairLinks = Annotated[int, IntegerRange(0, 1024)]
"""Links of one machine or switch, or between two of them: no switch of the catalog has so many ports."""
Number = Annotated[float, Field(strict=True, ge=0, le=1e15)]
Parameters = Annotated[
    Number,
    BeforeValidator(_parse_parameters),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1e15},
                {"type": "string", "pattern": rf"^{_PARAMETER_COUNT.pattern}$"},
            ],
            "typeName": "number of parameters",
            "unit": "parameters",
        }
    ),
]
Ratio = Annotated[float, Field(strict=True, ge=0, le=1, json_schema_extra={"unit": "fraction"})]
# A divisor: no efficiency or share is smaller, and quotients stay within the range of floating-point numbers.
PositiveRatio = Annotated[float, Field(strict=True, ge=0.0001, le=1, json_schema_extra={"unit": "fraction"})]
Flag = StrictBool
RELEASE_PATTERN = r"^[0-9]{1,4}(\.[0-9]{1,4}){0,2}$"
ReleaseText = Annotated[
    str,
    Field(pattern=RELEASE_PATTERN),
    BeforeValidator(_to_release_text),
    # without quotes YAML reads it as a number, and so do other programs
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": RELEASE_PATTERN}, {"type": "number", "minimum": 0}],
            "typeName": "release",
            "description": "A release such as '22.05'.",
        }
    ),
]


class DuplicateNameError(ValueError):
    """Two items of one list have the same name."""


class LocatedProblem(NamedTuple):
    """A problem at a path below the one that a validator checks."""

    path: tuple[str | int, ...]
    related_path: tuple[str | int, ...] | None
    """The path that it contradicts; its line is reported too if it is known."""
    problem: str
    hint: str

    def describe(self, find_line: Callable[[tuple[str | int, ...]], int]) -> str:
        """The problem, with the line of the other path (``find_line`` returns 0 if no file is known)."""
        at = find_line(self.related_path) if self.related_path else 0
        return f"{self.problem}, at line {at}" if at else self.problem


class LocatedProblemsError(ValueError):
    """Several problems found by one validator."""

    def __init__(self, problems: Sequence[LocatedProblem]):
        super().__init__("; ".join(f"{item.problem}: {item.hint}" for item in problems))
        self.problems = tuple(problems)


def find_duplicates(items: tuple[Any, ...], key: str = "name") -> list[str]:
    """Values of ``key`` that occur more than once among ``items``."""
    seen: set[str] = set()
    twice: list[str] = []
    for item in items:
        value = getattr(item, key)
        if value in seen and value not in twice:
            twice.append(value)
        seen.add(value)
    return twice
