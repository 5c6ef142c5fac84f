"""What a job trains, as far as memory and time depend on it: sizes of the model, and how its states are kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Count, Flag, Model, Parameters, Ratio

__all__ = ["ModelShape"]


class ModelShape(Model):
    """A transformer in numbers. With layers, hidden and sequence the activations are estimated, too."""

    parameters: Annotated[Parameters, Field(gt=0)]
    """Of the whole model: 405e9, or 405B."""
    expert_parameters: Parameters = 0
    """Those of ``parameters`` that are in experts: expert parallelism divides only these."""
    layers: Count | None = None
    """Transformer layers."""
    hidden: Count | None = None
    """Width of the residual stream."""
    heads: Count | None = None
    """Attention heads; needed only where attention scores are kept."""
    kv_heads: Count | None = None
    """Heads of keys and values, where they are fewer."""
    head_width: Count | None = None
    """Width of one head; empty means ``hidden`` divided among ``heads``."""
    vocabulary: Count | None = None
    """Tokens there are: counts their scores, which one pipeline stage holds beside its layers."""
    feed_forward: Count | None = None
    """Width inside the feed-forward block; empty means four times ``hidden``."""
    gated: Flag = False
    """The feed-forward block has a gate (SwiGLU)."""
    dropout: Flag = False
    """Its masks are kept."""
    active_experts: Count = 1
    """Experts each token goes through: their activations are kept for each."""
    sequence: Count | None = None
    """Tokens of one sequence."""
    micro_batch: Count = 1
    """Sequences a replica works on at one time."""
    micro_batches: Count | None = None
    """Micro batches of a step in one replica: no more are in flight. Empty means at least as many as stages."""
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"
    """Of weights and activations."""
    activations: Literal["bf16", "fp16", "fp32", "fp8"] | None = None
    """What activations are kept in until the backward pass; empty means ``precision``."""
    gradients: Literal["bf16", "fp32"] = "fp32"
    """What gradients are summed in."""
    optimizer: Literal["adam", "adam-8bit", "momentum", "none"] = "adam"
    """``none``: nothing is trained, only weights are held."""
    shard: Literal["nothing", "optimizer", "gradients", "weights"] = "nothing"
    """What the data-parallel replicas share among themselves; each word includes those before it (ZeRO 1, 2, 3)."""
    recompute: Literal["nothing", "attention", "feed-forward", "full"] = "attention"
    """What is computed again instead of kept: attention scores (as flash attention does), also the activation of the
    feed-forward block, or all but the input of each layer."""
    headroom: Ratio = 0.05
    """Part of the memory that is left to buffers and fragments."""

    @model_validator(mode="after")
    def _check_consistency(self) -> ModelShape:
        if self.expert_parameters > self.parameters:
            raise ValueError(
                f"expert_parameters {self.expert_parameters:g} are more than all parameters, {self.parameters:g}"
            )
        if self.head_width and not self.heads:
            raise ValueError("head_width is given, heads are not")
        if self.kv_heads and not self.heads:
            raise ValueError("kv_heads are given, heads are not")
        if self.heads and self.kv_heads and self.kv_heads > self.heads:
            raise ValueError(f"{self.kv_heads} kv_heads are more than the {self.heads} heads")
        if self.recompute == "nothing" and self.layers and not self.heads:
            raise ValueError("recompute: nothing keeps attention scores; heads says how many")
        return self
