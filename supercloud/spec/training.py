"""The trained model of a job for estimates of memory and time: its sizes, and how its states are stored."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Count, Flag, Model, Parameters, Ratio

__all__ = ["ModelShape"]


class ModelShape(Model):
    """Sizes of a transformer. With layers, hidden and sequence, activations are estimated too."""

    parameters: Annotated[Parameters, Field(gt=0)]
    """Parameters of the whole model: 405e9, or 405B. Example: ``405B``."""
    expert_parameters: Parameters = 0
    """Parameters in experts, a part of ``parameters``: expert parallelism divides only these. Example: ``300B``."""
    layers: Count | None = None
    """Transformer layers. Empty means unknown: activations are not estimated. Example: ``126``."""
    hidden: Count | None = None
    """Width of the residual stream. Empty means unknown: activations are not estimated. Example: ``16384``."""
    heads: Count | None = None
    """Attention heads; required only if attention scores are kept. Empty means unknown. Example: ``128``."""
    kv_heads: Count | None = None
    """Heads of keys and values, if fewer; empty means as many as `heads`. Example: ``8``."""
    head_width: Count | None = None
    """Width of one head; empty means ``hidden`` divided among ``heads``. Example: ``128``."""
    vocabulary: Count | None = None
    """Vocabulary size, for the logits that one pipeline stage holds in addition to its layers; empty means that logits
    are not counted. Example: ``128256``."""
    feed_forward: Count | None = None
    """Inner width of the feed-forward block; empty means four times ``hidden``. Example: ``53248``."""
    gated: Flag = False
    """Whether the feed-forward block is gated (SwiGLU)."""
    dropout: Flag = False
    """Whether dropout is used, whose masks are kept."""
    active_experts: Count = 1
    """Experts per token: activations are kept for each. Example: ``2``."""
    sequence: Count | None = None
    """Tokens of one sequence. Empty means unknown: activations are not estimated. Example: ``8192``."""
    micro_batch: Count = 1
    """Sequences of a replica per micro batch. Example: ``2``."""
    micro_batches: Count | None = None
    """Micro batches per step in one replica, the maximum in flight. Empty means at least as many as pipeline stages.
    Example: ``16``."""
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"
    """Number format of weights and activations."""
    activations: Literal["bf16", "fp16", "fp32", "fp8"] | None = None
    """Number format of stored activations until the backward pass; empty means ``precision``."""
    gradients: Literal["bf16", "fp32"] = "fp32"
    """Number format of accumulated gradients."""
    optimizer: Literal["adam", "adam-8bit", "momentum", "none"] = "adam"
    """Optimizer; ``none`` means inference, with weights only."""
    shard: Literal["nothing", "optimizer", "gradients", "weights"] = "nothing"
    """States sharded over data-parallel replicas; each value includes those before it (ZeRO 1, 2, 3)."""
    recompute: Literal["nothing", "attention", "feed-forward", "full"] = "attention"
    """Recomputed instead of stored: attention scores (as in flash attention), also the activation of the
    feed-forward block, or all but the input of each layer."""
    headroom: Ratio = 0.05
    """Fraction of the memory reserved for buffers and fragmentation. Example: ``0.1``."""

    @model_validator(mode="after")
    def _check_consistency(self) -> ModelShape:
        if self.expert_parameters > self.parameters:
            raise ValueError(
                f"expert_parameters {self.expert_parameters:g} are more than all parameters, {self.parameters:g}"
            )
        if self.head_width and not self.heads:
            raise ValueError("head_width is set, but heads is not")
        if self.kv_heads and not self.heads:
            raise ValueError("kv_heads is set, but heads is not")
        if self.heads and self.kv_heads and self.kv_heads > self.heads:
            raise ValueError(f"{self.kv_heads} kv_heads are more than the {self.heads} heads")
        if self.recompute == "nothing" and self.layers and not self.heads:
            raise ValueError("recompute: 'nothing' stores attention scores: set heads")
        return self
