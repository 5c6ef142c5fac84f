"""A job: its program, accelerators, parallelism and placement."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, model_validator

from ..primitives.quantity import Money, Price, Quantity
from .base import (
    MAX_ARGUMENTS,
    MAX_CHOICES,
    MAX_DEPENDENCIES,
    MAX_EXIT_CODES,
    MAX_LISTED,
    MAX_NODES,
    MIG_PROFILE,
    Count,
    Flag,
    IntegerRange,
    Model,
    Name,
    Natural,
    PositiveDuration,
    Ratio,
    StoredSize,
    Text,
    require_positive,
)
from .constructed import DocumentModel
from .hints import register_pattern
from .storage import Mount
from .tenant import Priority
from .training import ModelShape

__all__ = ["Accelerators", "Checkpoint", "JobSpec", "ModelShape", "Parallelism", "PlacementSpec", "RetryRule", "Secret"]

_VARIABLE_PATTERN = register_pattern(
    r"^[A-Za-z_][A-Za-z0-9_]*$", "is not a valid variable name: letters, digits and underscores", lambda text: ""
)

EnvName = Annotated[str, Field(pattern=_VARIABLE_PATTERN, max_length=128)]
Argument = Annotated[str, Field(max_length=131_072, pattern=r"^[^\x00]*$")]
LicenseName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*(@[A-Za-z0-9_.-]+)?$", max_length=128)]
TypeList = Annotated[tuple[Text, ...], Field(max_length=MAX_LISTED)]


_Q = TypeVar("_Q", bound=Quantity)


def _require_not_negative(value: _Q) -> _Q:
    if value.base < 0:
        raise ValueError(f"{value} must not be negative")
    return value


PositiveSize = Annotated[StoredSize, AfterValidator(require_positive)]


def _to_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class Accelerators(Model):
    """Number and types of accelerators."""

    type: Annotated[TypeList, BeforeValidator(_to_tuple, json_schema_input_type=Text | TypeList)] = ()
    """A type (``h100``), a lower bound (``>=h100``), or several in order of preference; empty means any. Example:
    ``[h200, h100]``."""
    count: Natural = 0
    """Number of accelerators; empty means the product of ``parallelism``, or none without it. Example: ``64``."""
    memory: PositiveSize | None = None
    """Minimum memory of each accelerator; empty means any. Example: ``80 GiB``."""
    fraction: Annotated[float, Field(strict=True, gt=0, le=1, json_schema_extra={"unit": "fraction"})] | None = None
    """Fraction of one accelerator, if the pool is sliced; empty means whole accelerators, unless `profile` is set.
    Example: ``0.5``."""
    profile: Annotated[str, Field(pattern=MIG_PROFILE, max_length=32)] | None = None
    """A MIG profile; ``count`` then counts instances. Empty means whole accelerators, unless `fraction` is set.
    Example: ``1g.10gb``."""

    @model_validator(mode="after")
    def _check_one_method(self) -> Accelerators:
        if self.fraction is not None and self.profile is not None:
            raise ValueError("a part of an accelerator is requested by 'fraction' or by 'profile', not both")
        if not self.count and (self.fraction is not None or self.profile is not None):
            raise ValueError("a part of an accelerator is requested, but count is 0; set count to 1")
        return self


class Parallelism(Model):
    """Parallelism of a model; the product is the number of accelerators."""

    tensor: Count = 1
    """Tensor parallelism. Example: ``8``."""
    pipeline: Count = 1
    """Pipeline stages. Example: ``4``."""
    data: Count = 1
    """Data-parallel replicas. Example: ``16``."""
    context: Count = 1
    """Context (sequence) parallelism. Example: ``2``."""
    expert: Count = 1
    """Expert parallelism; expert groups are inside the data groups and do not increase the total. Example: ``8``."""

    @property
    def total(self) -> int:
        """Accelerators of the whole job."""
        return self.tensor * self.pipeline * self.data * self.context


class Checkpoint(Model):
    """Location and interval of checkpoints."""

    path: Mount
    """Directory on a file system that all nodes of the job mount. Example: ``/scratch/run1``."""
    every: PositiveDuration | None = None
    """Time between checkpoints; empty means that it is proposed from the fleet's failure rate. Example: ``30 min``."""
    size: PositiveSize | None = None
    """Size of one checkpoint; empty means the weights and optimizer states of ``model``. Example: ``5.7 TB``."""
    write: PositiveDuration | None = None
    """Time for which training pauses; empty means its size at the write throughput of its file system. Example: ``30
    s``."""


class RetryRule(Model):
    """Action if a job ends with one of these exit codes."""

    exit_codes: Annotated[tuple[Annotated[StrictInt, Field(ge=0, le=255)], ...], Field(max_length=MAX_EXIT_CODES)]
    """Exit codes of the job, 0 to 255. Example: ``[75]``."""
    action: Literal["retry", "fail"]
    """Retry the job while retries are left, or let it fail immediately. Example: ``retry``."""


class Secret(Model):
    """A secret by reference: the value is never part of a job."""

    env: EnvName
    """Environment variable that holds it in the job. Example: ``HF_TOKEN``."""
    name: Text
    """Name of the secret in the engine's store. Example: ``hugging-face``."""


class PlacementSpec(Model):
    """Allowed placements of the job, and preferences."""

    minimize: Literal["cost", "carbon", "wait"] | None = None
    """Objective of placement; empty means that of the fleet's policy (``policy.minimize``). Example: ``carbon``."""
    clusters: Literal["any"] | Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED)] = "any"
    """Allowed clusters of the fleet. Example: ``[pod1]``."""
    pools: Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED)] = ()
    """Allowed pools; empty means any. Example: ``[train]``."""
    nodes: Annotated[tuple[Text, ...], Field(max_length=MAX_NODES)] = ()
    """Required nodes by name; empty means any. Example: ``[train-0001, train-0002]``."""
    max_price: Annotated[Price, AfterValidator(_require_not_negative)] | None = None
    """Maximum price of one node; empty means no limit. Example: ``60 USD/h``."""
    carbon: Literal["ignore", "prefer-low"] = "ignore"
    """Carbon preference; prefer-low adds carbon to the objective."""
    data: Annotated[tuple[Name, ...], Field(max_length=MAX_LISTED)] = ()
    """Data sets or file systems that it reads; transfers are included in the cost. Empty means none. Example:
    ``[tokens]``."""
    regions: Annotated[tuple[Text, ...], Field(max_length=MAX_LISTED)] = ()
    """Locations or regions it must run in; empty means any. Example: ``[stockholm]``."""
    near: Literal["any", "scale-up", "leaf", "pod", "fabric"] | None = None
    """Smallest domain that must contain the whole job; empty means derived from ``parallelism``. Example: ``leaf``."""


class JobSpec(DocumentModel):
    """A job, for any engine."""

    name: Name
    """Name shown in lists and passed to the scheduler. Example: ``pretrain``."""
    command: Annotated[tuple[Argument, ...], Field(min_length=1, max_length=MAX_ARGUMENTS)] | None = None
    """The program and its arguments, executed without a shell; empty means that a `script` is required. Example:
    ``[python, train.py]``."""
    script: Annotated[str, Field(min_length=1, max_length=1_048_576)] | None = None
    """A shell script, instead of ``command``; empty means that a `command` is required. Example: ``srun python
    train.py``."""
    image: Text | None = None
    """Container image: ``registry/name:tag``, an image file, or the directory of an OCI bundle. A ``command`` runs in
    it on every task, a ``script`` once, on the first node. Empty means that the job runs on the node's own system.
    Example: ``nvcr.io/nvidia/pytorch:25.01-py3``."""
    accelerators: Accelerators = Accelerators(count=0)
    """Number and types of accelerators; empty means none. Example: ``{type: h100, count: 64}``."""
    nodes: Count | None = None
    """Number of nodes; empty means the fewest whole nodes with enough accelerators. Example: ``8``."""
    tasks_per_node: Count = 1
    """Processes started on each node. Example: ``8``."""
    parallelism: Parallelism | None = None
    """Parallelism of the model; the product is the number of accelerators. Empty means that it is unknown, and only
    `accelerators` counts. Example: ``{tensor: 8, data: 8}``."""
    model: ModelShape | None = None
    """Model that it trains, used to check that it fits into memory. Empty means unknown: memory is not checked.
    Example: ``{parameters: 70B, layers: 80, hidden: 8192, heads: 64, sequence: 8192}``."""
    licenses: Annotated[dict[LicenseName, Count], Field(max_length=MAX_LISTED)] = {}
    """Number of each license it uses while it runs: ``{solver: 2}``, or ``solver@server`` of a license server; empty
    means none. Example: ``{solver: 2}``."""
    time_limit: PositiveDuration | None = None
    """Time after which the scheduler ends the job; empty means the default of its queue or partition. Example: ``24
    h``."""
    tenant: Name | None = None
    """Tenant whose shares and limits the job counts against; empty means none. Example: ``research``."""
    priority: Priority = "normal"
    """Priority class; at most that of the tenant."""
    preemptible: Flag = True
    """Whether jobs of a higher priority may preempt it."""
    checkpoint: Checkpoint | None = None
    """Checkpoints of the job; required for interval proposals and for fencing. Empty means none. Example: ``{path:
    /scratch/run1}``."""
    retries: Annotated[int, IntegerRange(0, 1000)] = 0
    """Maximum number of restarts after node failures and after the exit codes in ``retry_rules``. Example: ``3``."""
    retry_rules: Annotated[tuple[RetryRule, ...], Field(max_length=MAX_EXIT_CODES)] = ()
    """Which exit codes are retried; the first matching rule applies. Other exit codes end the job. Empty means that no
    exit code is retried. Example: ``[{exit_codes: [75], action: retry}]``."""
    env: Annotated[dict[EnvName, Argument], Field(max_length=MAX_ARGUMENTS)] = {}
    """Environment variables; empty means none. Example: ``{OMP_NUM_THREADS: "8"}``."""
    secrets: Annotated[tuple[Secret, ...], Field(max_length=MAX_LISTED)] = ()
    """Secrets of the engine's store, passed as environment variables; empty means none. Example: ``[{env: HF_TOKEN,
    name: hugging-face}]``."""
    workdir: Mount | None = None
    """Working directory on the node; empty means the engine's default. Example: ``/scratch/run1``."""
    array: Annotated[int, IntegerRange(0, 1_000_000)] | None = None
    """Number of array tasks, with SUPERCLOUD_ARRAY_INDEX 0, 1 …; empty means a single job. Example: ``100``."""
    after: Annotated[tuple[Text, ...], Field(max_length=MAX_DEPENDENCIES)] = ()
    """Jobs that must be completed first; empty means none. Example: ``["41"]``."""
    deadline: PositiveDuration | None = None
    """Latest end, counted from the submission; empty means none. Example: ``3 d``."""
    budget: Annotated[Money, AfterValidator(_require_not_negative)] | None = None
    """Maximum cost until its time limit; empty means no limit. Example: ``5000 USD``."""
    weights: Annotated[
        dict[Literal["cost", "carbon", "wait", "topology", "fragmentation"], Ratio], Field(max_length=MAX_CHOICES)
    ] = {}
    """Weights of the terms of the placement objective; they override the fleet's. Empty means the fleet's. Example:
    ``{cost: 0.7, wait: 0.3}``."""
    place: PlacementSpec = PlacementSpec()
    """Allowed clusters, pools and regions, and preferences. Example: ``{clusters: [pod1], minimize: carbon}``."""

    @model_validator(mode="after")
    def _check_consistency(self) -> JobSpec:
        if (self.command is None) == (self.script is None):
            raise ValueError("a job requires either a 'command' (a list of arguments) or a 'script'")
        if self.parallelism and self.accelerators.count and self.parallelism.total != self.accelerators.count:
            of = self.parallelism
            raise ValueError(
                f"parallelism: tensor {of.tensor} × pipeline {of.pipeline} × data {of.data} × context {of.context} = "
                f"{of.total}, but accelerators.count is {self.accelerators.count}"
            )
        fields = self.accelerators.model_fields_set
        if fields - {"count"} and "count" not in fields and not self.accelerator_count:
            raise ValueError("accelerators.count is missing: set it, or set parallelism")
        if self.parallelism:
            self._check_divisibility(self.parallelism)
        if self.parallelism and (self.accelerators.fraction or self.accelerators.profile):
            raise ValueError("parallelism requires whole accelerators; omit accelerators.fraction and profile")
        if self.deadline and self.time_limit and self.time_limit > self.deadline:
            raise ValueError(f"time_limit {self.time_limit} is more than the deadline, {self.deadline}")
        return self

    def _check_divisibility(self, parallelism: Parallelism) -> None:
        """Check that sizes are divisible by the parallelism."""
        if (parallelism.data * parallelism.context) % parallelism.expert:
            raise ValueError(
                f"parallelism: expert {parallelism.expert} does not divide data {parallelism.data} × context "
                f"{parallelism.context}: expert groups are inside the data groups"
            )
        if (model := self.model) is None:
            return
        for what, count, by, ways in (
            ("model.layers", model.layers, "pipeline stages", parallelism.pipeline),
            ("model.sequence", model.sequence, "context-parallel parts", parallelism.context),
            ("model.heads", model.heads, "tensor-parallel parts", parallelism.tensor),
        ):
            if count is not None and ways > count:
                raise ValueError(f"parallelism: {ways} {by} are more than {what}, {count}")
        for what, count, by, ways in (
            ("model.sequence", model.sequence, "context", parallelism.context),
            ("model.heads", model.heads, "tensor", parallelism.tensor),
            ("model.hidden", model.hidden, "tensor", parallelism.tensor),
        ):
            if count is not None and count % ways:
                raise ValueError(f"parallelism: {by} {ways} does not divide {what}, {count}")

    @property
    def accelerator_count(self) -> int:
        """Accelerators of the whole job, from ``accelerators.count`` or ``parallelism``."""
        return self.accelerators.count or (self.parallelism.total if self.parallelism else 0)
