"""The published numbers of the papers the estimates are taken from, and of runs that did fit."""

from __future__ import annotations

from typing import Any

import pytest

from supercloud.jobs.memory import activation_factors, memory_of, state_bytes, what_fits
from supercloud.primitives.quantity import Size
from supercloud.spec.job import Parallelism
from supercloud.spec.training import ModelShape

LLAMA = ModelShape(
    parameters=405e9, layers=126, hidden=16384, heads=128, kv_heads=8, feed_forward=53248, gated=True, sequence=8192,
    micro_batches=16, shard="gradients",
)  # fmt: skip
GPT3 = ModelShape(parameters=175e9, layers=96, hidden=12288, heads=96, sequence=2048, dropout=True)
OF_80 = Size("80 GiB")


@pytest.mark.parametrize("shard, gigabytes", [
    ("nothing", 120), ("optimizer", 31.4), ("gradients", 16.6), ("weights", 1.9),
])  # fmt: skip
def test_the_states_of_zero(shard: Any, gigabytes: float) -> None:
    """ZeRO, figure 1: 7.5 billion parameters over 64 replicas, gradients of two bytes."""
    model = ModelShape(parameters=7.5e9, gradients="bf16", shard=shard)
    assert round(state_bytes(model, Parallelism(data=64)) / 1e9, 1) == gigabytes


@pytest.mark.parametrize("model, scores, saved", [
    (GPT3, 80, 70), (GPT3.model_copy(update={"layers": 105, "hidden": 20480, "heads": 128}), 64, 65),
])  # fmt: skip
def test_the_activations_of_a_layer(model: ModelShape, scores: float, saved: int) -> None:
    """Korthikanti et al., §4 and §5: 34 + 5as/h; for GPT-3 and MT-NLG 80 and 64, so 70 % and 65 % are saved."""
    everything = activation_factors(model.model_copy(update={"recompute": "nothing"}))
    assert everything == (34, scores)
    assert activation_factors(model) == (34, 0)
    assert round(100 * scores / sum(everything)) == saved
    assert activation_factors(model.model_copy(update={"recompute": "full"})) == (2, 0)


def test_llama_3_fits_as_it_was_trained() -> None:
    """Table 4 of the Llama 3 paper, which trained at 8192 tokens without recomputing activations."""
    short = memory_of(LLAMA, Parallelism(tensor=8, pipeline=16, data=128), OF_80)
    assert short.fits, short
    long = LLAMA.model_copy(update={"sequence": 131_072})
    assert memory_of(long, Parallelism(tensor=8, context=16, pipeline=16, data=8), OF_80).fits
    assert not memory_of(long, Parallelism(tensor=8, pipeline=16, data=128), OF_80).fits


def test_gpt_3_fits_1024_a100() -> None:
    assert memory_of(GPT3, Parallelism(tensor=8, pipeline=16, data=8), OF_80).fits
    assert not memory_of(GPT3, Parallelism(tensor=8, data=128), OF_80).fits


@pytest.mark.parametrize("change, how, said", [
    ({"shard": "nothing"}, {"tensor": 8, "pipeline": 16, "data": 128}, "set model.shard to gradients"),
    ({"sequence": 16384}, {"tensor": 8, "pipeline": 16, "data": 128}, "set model.recompute to full"),
    ({}, {"tensor": 4, "data": 4096}, "spread it over tensor"),
    ({}, {"tensor": 8, "data": 2}, "take 336 accelerators: tensor 8, pipeline 21, data 2"),
    ({"parameters": 1e15}, {"tensor": 8, "pipeline": 2, "data": 1}, "take accelerators with at least"),
])  # fmt: skip
def test_what_would_fit(change: dict[str, Any], how: dict[str, int], said: str) -> None:
    model, spread = LLAMA.model_copy(update=change), Parallelism(**how)
    assert not memory_of(model, spread, OF_80).fits
    assert what_fits(model, spread, OF_80, 8)[0].startswith(said)


def test_more_accelerators_that_are_asked_for_are_enough() -> None:
    how = Parallelism(tensor=8, data=2)
    model = LLAMA.model_copy(update={"shard": "nothing"})
    words, _ = what_fits(model, how, OF_80, 8)
    pipeline = int(words.partition("pipeline ")[2].partition(",")[0])
    better = model.model_copy(update={"shard": "optimizer"})
    assert memory_of(better, how.model_copy(update={"pipeline": pipeline}), OF_80).fits
    assert not memory_of(better, how.model_copy(update={"pipeline": pipeline - 1}), OF_80).fits


def test_experts_are_divided_by_their_own_parallelism() -> None:
    model = ModelShape(parameters=100e9, expert_parameters=90e9, optimizer="none")
    assert state_bytes(model, Parallelism(data=64)) == pytest.approx(200e9)
    assert state_bytes(model, Parallelism(data=64, expert=32)) == pytest.approx(20e9 + 180e9 / 32)


def test_nothing_is_kept_where_nothing_is_trained() -> None:
    model = GPT3.model_copy(update={"optimizer": "none"})
    here = memory_of(model, Parallelism(tensor=8), OF_80)
    assert here.states == Size(350 / 8, "GB") and here.fits
    assert memory_of(ModelShape(parameters=1e9), Parallelism(), OF_80).activations is None
