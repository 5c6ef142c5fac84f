"""Whether a model fits the memory of the accelerators it is spread over, and the smallest change with which it would.

Model states: Rajbhandari et al., ZeRO (arXiv 1910.02054 §3.1): weights, gradients, and optimizer states.
Activations: Korthikanti et al. (arXiv 2205.05198 §4, §5): 34·s·b·h bytes a layer and 5·a·s²·b for attention scores,
over tensor and sequence parallel parts, with as many layers' worth on the first pipeline stage as the model has. The
terms are computed separately here, so that gated blocks and fewer key heads are counted correctly. Both are estimates:
other memory of a framework is ``headroom``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ...primitives.quantity import Size
from ...spec.job import Parallelism
from ...spec.training import ModelShape
from .refusal import JobChange

__all__ = [
    "MemoryDemand",
    "compute_activation_factors",
    "compute_memory_demand",
    "compute_saved_bytes",
    "compute_state_bytes",
    "suggest_fitting_change",
]

# Bytes of one parameter; the optimizer's for weights of two bytes (with a master copy) and of four.
_WEIGHT_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1}
_OPTIMIZER_BYTES = {"adam": (12, 8), "adam-8bit": (6, 2), "momentum": (8, 4), "none": (0, 0)}
_SHARD_LEVELS = ("nothing", "optimizer", "gradients", "weights")
_RECOMPUTE_LEVELS = ("nothing", "attention", "feed-forward", "full")


@dataclass(frozen=True)
class MemoryDemand:
    """Memory that the fullest accelerator needs, and its capacity."""

    states: Size
    activations: Size | None
    """None if the model's layers, hidden or sequence are not specified."""
    capacity: Size
    usable: Size
    """Capacity without the headroom."""

    @property
    def required(self) -> Size:
        """Total of states and activations."""
        return self.states + self.activations if self.activations else self.states

    @property
    def fits(self) -> bool:
        """Whether it fits in the usable memory."""
        return self.required <= self.usable

    def __str__(self) -> str:
        parts = f"{_format_gb(self.states)} of states"
        if self.activations is not None:
            parts += f" and {_format_gb(self.activations)} of activations"
        usable = f"{_format_gb(self.usable)} of {_format_gb(self.capacity)}"
        return f"{_format_gb(self.required)} of memory each ({parts}); {usable} are usable"


def compute_memory_demand(model: ModelShape, parallelism: Parallelism, capacity: Size) -> MemoryDemand:
    """The fullest accelerator: on the first pipeline stage."""
    activations = _compute_activation_bytes(model, parallelism)
    return MemoryDemand(
        Size.from_base(round(compute_state_bytes(model, parallelism))),
        None if activations is None else Size.from_base(round(activations)),
        capacity,
        Size.from_base(int(float(capacity.base) * (1 - model.headroom))),
    )


def compute_state_bytes(model: ModelShape, parallelism: Parallelism) -> float:
    """Bytes of weights, gradients and optimizer states on one accelerator."""
    width = _WEIGHT_BYTES[model.precision]
    gradients = 0 if model.optimizer == "none" else 4 if model.gradients == "fp32" else 2
    optimizer = _OPTIMIZER_BYTES[model.optimizer][width == 4]
    sharded = _SHARD_LEVELS.index(model.shard)
    stage = -(-model.layers // parallelism.pipeline) / model.layers if model.layers else 1 / parallelism.pipeline
    total = 0.0
    replicas = parallelism.data * parallelism.context
    for parameters, over in (
        (model.parameters - model.expert_parameters, replicas),
        (model.expert_parameters / parallelism.expert, replicas / parallelism.expert),
    ):
        own = parameters * stage / parallelism.tensor
        for number, bytes_each in ((1, optimizer), (2, gradients), (3, width)):
            total += own * bytes_each / (over if sharded >= number else 1)
    return total


def compute_saved_bytes(model: ModelShape) -> float:
    """Bytes of a checkpoint: weights and optimizer states of all parameters, without gradients."""
    width = _WEIGHT_BYTES[model.precision]
    return model.parameters * (width + _OPTIMIZER_BYTES[model.optimizer][width == 4])


def compute_activation_factors(model: ModelShape) -> tuple[float, float]:
    """Bytes per token and unit of width in one layer: always kept, and attention scores.

    34 and 5·a·s/h for the transformer of the paper, without what the model recomputes.
    """
    width = _WEIGHT_BYTES[model.activations or model.precision]
    if model.recompute == "full":
        return float(width), 0.0
    norms, inside = 2 * width, _compute_inner_width(model)
    block = width * model.active_experts + inside * width * (2 if model.gated else 1) + _count_masks(model)
    activated = 0 if model.recompute == "feed-forward" else inside * width  # output of the activation function
    kept = norms + _compute_attention_bytes(model, width) + block + activated
    scores = 0.0
    if model.recompute == "nothing" and model.heads and model.sequence and model.hidden:
        scores = (2 * width + _count_masks(model)) * model.heads * model.sequence / model.hidden
    return kept, scores


def _compute_attention_bytes(model: ModelShape, width: int) -> float:
    """Its input, queries, keys and values, its output."""
    heads, hidden = model.heads or 1, model.hidden or 1
    queries = model.head_width * heads / hidden if model.head_width else 1.0
    keys = queries * (model.kv_heads or heads) / heads
    return width + width * queries + 2 * width * keys + width * queries + _count_masks(model)


def _compute_inner_width(model: ModelShape) -> float:
    """Width of the feed-forward layers of all active experts, in widths of the model."""
    return (model.feed_forward / model.hidden if model.feed_forward and model.hidden else 4) * model.active_experts


def _count_masks(model: ModelShape) -> int:
    """Bytes of a dropout mask."""
    return 1 if model.dropout else 0


def _compute_activation_bytes(model: ModelShape, parallelism: Parallelism) -> float | None:
    if not (model.layers and model.hidden and model.sequence):
        return None
    kept, scores = compute_activation_factors(model)
    if model.optimizer == "none":
        layers = 1.0  # nothing is kept for a backward pass
    else:
        flying = min(parallelism.pipeline, model.micro_batches or parallelism.pipeline)
        layers = flying * -(-model.layers // parallelism.pipeline)
        if model.recompute == "full":  # one layer is stored in full while it is recomputed
            again, _ = compute_activation_factors(model.model_copy(update={"recompute": "attention"}))
            layers += again / kept
    tokens = model.sequence / parallelism.context * model.micro_batch
    held = tokens * model.hidden * (kept + scores) / parallelism.tensor * layers
    if (
        model.vocabulary and parallelism.pipeline == 1
    ):  # Korthikanti et al., §4.3: elsewhere the first stage is the fullest
        held += tokens * 4 * model.vocabulary / parallelism.tensor
    return held


def suggest_fitting_change(
    model: ModelShape, parallelism: Parallelism, capacity: Size, domain_size: int
) -> tuple[str, JobChange]:
    """The smallest change that makes it fit, in words and by field of the job.

    First changes without more accelerators, then other parallelism, then more accelerators, and last larger ones.
    """
    for ways in (_iter_changes(model, parallelism, domain_size), _iter_larger_groups(model, parallelism, domain_size)):
        for words, other, spread in ways:
            if compute_memory_demand(other, spread, capacity).fits:
                return words, _build_change(model, parallelism, other, spread)
    return (
        f"use accelerators with at least {_format_gb(compute_memory_demand(model, parallelism, capacity).required)} "
        "of memory",
        {},
    )


def _build_change(
    model: ModelShape, parallelism: Parallelism, new_model: ModelShape, new_parallelism: Parallelism
) -> JobChange:
    change: dict[str, object] = {
        f"model.{name}": getattr(new_model, name)
        for name in ModelShape.model_fields
        if getattr(new_model, name) != getattr(model, name)
    }
    if new_parallelism != parallelism:
        change |= {f"parallelism.{axis}": ways for axis, ways in new_parallelism.model_dump().items()}
        change["accelerators.count"] = new_parallelism.total
    return change


def _iter_changes(
    model: ModelShape, parallelism: Parallelism, domain_size: int
) -> Iterator[tuple[str, ModelShape, Parallelism]]:
    for shard in _SHARD_LEVELS[_SHARD_LEVELS.index(model.shard) + 1 :]:
        yield f"set model.shard to {shard}", model.model_copy(update={"shard": shard}), parallelism
    for recompute in _RECOMPUTE_LEVELS[_RECOMPUTE_LEVELS.index(model.recompute) + 1 :]:
        yield f"set model.recompute to {recompute}", model.model_copy(update={"recompute": recompute}), parallelism
    if model.micro_batch > 1:
        yield "set model.micro_batch to 1", model.model_copy(update={"micro_batch": 1}), parallelism
    for tensor, pipeline in sorted(
        _iter_splits(model, parallelism, domain_size), key=lambda split: (split[0] * split[1], split[1])
    ):
        data = parallelism.data * parallelism.tensor * parallelism.pipeline // (tensor * pipeline)
        spread = parallelism.model_copy(update={"tensor": tensor, "pipeline": pipeline, "data": data})
        words = f"use tensor {tensor}, pipeline {pipeline}, data {data}"
        for shard in ("nothing", "optimizer"):
            if _SHARD_LEVELS.index(shard) >= _SHARD_LEVELS.index(model.shard) or shard == "nothing":
                better = model.model_copy(update={"shard": max(shard, model.shard, key=_SHARD_LEVELS.index)})
                yield (
                    words + (f", with model.shard: {better.shard}" if better.shard != model.shard else ""),
                    better,
                    spread,
                )
    least = {"shard": "weights", "recompute": "full", "micro_batch": 1}
    yield "set model.shard to weights and model.recompute to full", model.model_copy(update=least), parallelism


def _iter_larger_groups(
    model: ModelShape, parallelism: Parallelism, domain_size: int
) -> Iterator[tuple[str, ModelShape, Parallelism]]:
    """Larger tensor and pipeline groups for the same number of model replicas, fewest accelerators first."""
    tensors = [
        tensor
        for times in range(max(domain_size, parallelism.tensor).bit_length())
        if (tensor := parallelism.tensor << times) <= max(domain_size, parallelism.tensor)
        and not (model.heads or 0) % tensor
        and not (model.hidden or 0) % tensor
    ]
    stages = _list_stages(model, parallelism)
    splits = sorted(((tensor, pipeline) for tensor in tensors for pipeline in stages), key=lambda way: way[0] * way[1])
    least = model.model_copy(update={"shard": max("optimizer", model.shard, key=_SHARD_LEVELS.index)})
    for tensor, pipeline in splits:
        spread = parallelism.model_copy(update={"tensor": tensor, "pipeline": pipeline})
        words = f"use {spread.total} accelerators: tensor {tensor}, pipeline {pipeline}, data {parallelism.data}"
        for sort in (model, least):
            yield words + (f", with model.shard: {sort.shard}" if sort.shard != model.shard else ""), sort, spread


def _iter_splits(model: ModelShape, parallelism: Parallelism, domain_size: int) -> Iterator[tuple[int, int]]:
    """Larger tensor and pipeline groups for the same accelerators; tensor groups stay in a scale-up domain."""
    whole = parallelism.data * parallelism.tensor * parallelism.pipeline
    tensor = parallelism.tensor
    while tensor <= max(domain_size, parallelism.tensor):
        for pipeline in _list_stages(model, parallelism):
            fits = (
                whole % (tensor * pipeline) == 0
                and not (model.heads or 0) % tensor
                and not (model.hidden or 0) % tensor
            )
            data = whole // (tensor * pipeline)
            if (
                fits
                and data
                and (data * parallelism.context) % parallelism.expert == 0
                and (tensor, pipeline) != (parallelism.tensor, parallelism.pipeline)
            ):
                yield tensor, pipeline
        tensor *= 2


def _list_stages(model: ModelShape, parallelism: Parallelism) -> list[int]:
    """Possible numbers of pipeline stages: the job's own, and larger ones with as many layers on each stage."""
    own, layers = parallelism.pipeline, model.layers
    if layers is None:
        return [own, *range(own + 1, own * 64 + 1, max(1, own // 16))]
    return [own, *(stages for stages in _list_divisors(layers) if stages > own)]


def _list_divisors(number: int) -> list[int]:
    """All divisors of a number, in order."""
    low = [divisor for divisor in range(1, math.isqrt(number) + 1) if not number % divisor]
    return low + [number // divisor for divisor in reversed(low) if divisor * divisor != number]


def _format_gb(size: Size) -> str:
    return f"{size.to('GB'):.1f} GB"
