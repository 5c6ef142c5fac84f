"""The published numbers of the papers the estimates are taken from, and of runs that did fit."""

from __future__ import annotations

import time
from typing import Any

import pytest

from supercloud.jobs.placement.memory import (
    _list_stages,
    compute_activation_factors,
    compute_memory_demand,
    compute_state_bytes,
    suggest_fitting_change,
)
from supercloud.primitives.quantity import Size
from supercloud.spec.job import Parallelism
from supercloud.spec.training import ModelShape

LLAMA = ModelShape(
    parameters=405e9,
    layers=126,
    hidden=16384,
    heads=128,
    kv_heads=8,
    feed_forward=53248,
    gated=True,
    sequence=8192,
    micro_batches=16,
    shard="gradients",
)
GPT3 = ModelShape(parameters=175e9, layers=96, hidden=12288, heads=96, sequence=2048, dropout=True)
OF_80 = Size("80 GiB")


@pytest.mark.parametrize(
    "shard, gigabytes",
    [
        ("nothing", 120),
        ("optimizer", 31.4),
        ("gradients", 16.6),
        ("weights", 1.9),
    ],
)
def test_model_states_match_the_zero_paper(shard: Any, gigabytes: float) -> None:
    """ZeRO, figure 1: 7.5 billion parameters over 64 replicas, gradients of two bytes."""
    model = ModelShape(parameters=7.5e9, gradients="bf16", shard=shard)
    assert round(compute_state_bytes(model, Parallelism(data=64)) / 1e9, 1) == gigabytes


@pytest.mark.parametrize(
    "model, scores, saved",
    [
        (GPT3, 80, 70),
        (GPT3.model_copy(update={"layers": 105, "hidden": 20480, "heads": 128}), 64, 65),
    ],
)
def test_activations_of_a_layer_match_the_paper(model: ModelShape, scores: float, saved: int) -> None:
    """Korthikanti et al., §4 and §5: 34 + 5as/h; for GPT-3 and MT-NLG 80 and 64, so 70 % and 65 % are saved."""
    everything = compute_activation_factors(model.model_copy(update={"recompute": "nothing"}))
    assert everything == (34, scores)
    assert compute_activation_factors(model) == (34, 0)
    assert round(100 * scores / sum(everything)) == saved
    assert compute_activation_factors(model.model_copy(update={"recompute": "full"})) == (2, 0)


def test_llama_3_fits_with_its_published_parallelism() -> None:
    """Table 4 of the Llama 3 paper, which trained at 8192 tokens without recomputing activations."""
    short = compute_memory_demand(LLAMA, Parallelism(tensor=8, pipeline=16, data=128), OF_80)
    assert short.fits, short
    long = LLAMA.model_copy(update={"sequence": 131_072})
    assert compute_memory_demand(long, Parallelism(tensor=8, context=16, pipeline=16, data=8), OF_80).fits
    assert not compute_memory_demand(long, Parallelism(tensor=8, pipeline=16, data=128), OF_80).fits


def test_gpt_3_fits_1024_a100_as_published() -> None:
    assert compute_memory_demand(GPT3, Parallelism(tensor=8, pipeline=16, data=8), OF_80).fits
    assert not compute_memory_demand(GPT3, Parallelism(tensor=8, data=128), OF_80).fits


@pytest.mark.parametrize(
    "change, how, message",
    [
        ({"shard": "nothing"}, {"tensor": 8, "pipeline": 16, "data": 128}, "set model.shard to gradients"),
        ({"sequence": 16384}, {"tensor": 8, "pipeline": 16, "data": 128}, "set model.recompute to full"),
        ({}, {"tensor": 4, "data": 4032}, "use tensor"),
        ({}, {"tensor": 4, "data": 4096}, "set model.shard to weights and model.recompute to full"),
        ({}, {"tensor": 8, "data": 2}, "use 336 accelerators: tensor 8, pipeline 21, data 2"),
        ({"parameters": 1e15}, {"tensor": 8, "pipeline": 2, "data": 1}, "use accelerators with at least"),
    ],
)
def test_a_model_that_does_not_fit_has_a_suggestion(change: dict[str, Any], how: dict[str, int], message: str) -> None:
    model, spread = LLAMA.model_copy(update=change), Parallelism(**how)
    assert not compute_memory_demand(model, spread, OF_80).fits
    assert suggest_fitting_change(model, spread, OF_80, 8)[0].startswith(message)


def test_the_suggested_number_of_accelerators_is_enough() -> None:
    how = Parallelism(tensor=8, data=2)
    model = LLAMA.model_copy(update={"shard": "nothing"})
    words, _ = suggest_fitting_change(model, how, OF_80, 8)
    pipeline = int(words.partition("pipeline ")[2].partition(",")[0])
    better = model.model_copy(update={"shard": "optimizer"})
    assert compute_memory_demand(better, how.model_copy(update={"pipeline": pipeline}), OF_80).fits
    assert pipeline == 126 or not 126 % pipeline
    fewer = max(stages for stages in range(1, pipeline) if not 126 % stages)
    assert not compute_memory_demand(better, how.model_copy(update={"pipeline": fewer}), OF_80).fits


def test_suggested_stages_divide_the_layers() -> None:
    """15 stages were suggested for 126 layers."""
    for how in (Parallelism(tensor=4, data=4032), Parallelism(tensor=8, data=2)):
        _, change = suggest_fitting_change(LLAMA, how, OF_80, 8)
        pipeline = change["parallelism.pipeline"]
        assert isinstance(pipeline, int) and pipeline > how.pipeline and not 126 % pipeline, change


@pytest.mark.parametrize("layers, pipeline", [(7_163_125, 1), (7_207_200, 1), (None, 10_000_000)])
def test_suggestions_for_absurd_models_are_found_at_once(layers: int | None, pipeline: int) -> None:
    model = ModelShape(parameters=4.939e14, layers=layers, heads=16, optimizer="adam-8bit")
    begin = time.process_time()
    suggest_fitting_change(model, Parallelism(tensor=8, data=8, pipeline=pipeline), Size("1 GB"), 72)
    assert time.process_time() - begin < 1.5


def test_stages_are_all_larger_divisors_of_the_layers() -> None:
    for layers in (1, 12, 16, 97, 126):
        model = ModelShape(parameters=1e9, layers=layers)
        for own in (1, 2, 3):
            larger = [stages for stages in range(own + 1, layers + 1) if layers % stages == 0]
            assert _list_stages(model, Parallelism(pipeline=own)) == [own, *larger]
    unknown = _list_stages(ModelShape(parameters=1e9), Parallelism(pipeline=2))
    assert unknown == list(range(2, 129))


def test_experts_are_divided_by_their_own_parallelism() -> None:
    model = ModelShape(parameters=100e9, expert_parameters=90e9, optimizer="none")
    assert compute_state_bytes(model, Parallelism(data=64)) == pytest.approx(200e9)
    assert compute_state_bytes(model, Parallelism(data=64, expert=32)) == pytest.approx(20e9 + 180e9 / 32)


def test_a_model_without_optimizer_needs_its_weights_only() -> None:
    model = GPT3.model_copy(update={"optimizer": "none"})
    here = compute_memory_demand(model, Parallelism(tensor=8), OF_80)
    assert here.states == Size(350 / 8, "GB") and here.fits
    assert compute_memory_demand(ModelShape(parameters=1e9), Parallelism(), OF_80).activations is None


# As they were trained, from their papers and recipes: the model, then tensor, pipeline, data, context and expert
TRAINED = {
    # Narayanan et al. 2021 (2104.04473), table 1: a trillion parameters on 3,072 A100, everything recomputed
    "1T": (
        {
            "parameters": 1008e9,
            "layers": 128,
            "hidden": 25600,
            "heads": 160,
            "sequence": 2048,
            "dropout": True,
            "recompute": "full",
        },
        (8, 64, 6, 1, 1),
        "80 GiB",
    ),
    # Korthikanti et al., table 5: 530 billion on 280 A100, with selective recomputation
    "MT-NLG": (
        {"parameters": 530e9, "layers": 105, "hidden": 20480, "heads": 128, "sequence": 2048, "dropout": True},
        (8, 35, 1, 1, 1),
        "80 GiB",
    ),
    # Le Scao et al. (2211.05100), §3.4: 384 A100
    "BLOOM": (
        {
            "parameters": 176e9,
            "layers": 70,
            "hidden": 14336,
            "heads": 112,
            "sequence": 2048,
            "micro_batch": 2,
            "vocabulary": 250880,
            "shard": "optimizer",
            "recompute": "full",
        },
        (4, 12, 8, 1, 1),
        "80 GiB",
    ),
    # Nemotron-4 340B (2402.16819, 2406.11704): 768 DGX H100, tensor 8, pipeline 12
    "Nemotron": (
        {
            "parameters": 340e9,
            "layers": 96,
            "hidden": 18432,
            "heads": 96,
            "kv_heads": 8,
            "feed_forward": 73728,
            "sequence": 4096,
            "vocabulary": 256000,
            "shard": "optimizer",
        },
        (8, 12, 64, 1, 1),
        "80 GiB",
    ),
    # Chowdhery et al. (2204.02311), §4: 6,144 TPU v4, 12-way model and 256-way fully sharded data parallel in each pod
    "PaLM": (
        {
            "parameters": 540e9,
            "layers": 118,
            "hidden": 18432,
            "heads": 48,
            "kv_heads": 1,
            "head_width": 256,
            "feed_forward": 73728,
            "gated": True,
            "sequence": 2048,
            "vocabulary": 256000,
            "shard": "weights",
            "recompute": "full",
        },
        (12, 1, 512, 1, 1),
        "32 GiB",
    ),
    # Zhang et al. (2205.01068), §2.3: 992 A100, fully sharded with tensor parallelism
    "OPT": (
        {
            "parameters": 175e9,
            "layers": 96,
            "hidden": 12288,
            "heads": 96,
            "sequence": 2048,
            "micro_batch": 8,
            "precision": "fp16",
            "shard": "weights",
            "recompute": "full",
        },
        (8, 1, 124, 1, 1),
        "80 GiB",
    ),
    # DeepSeek-V3 (2412.19437), §3.2, §3.3: 2,048 H800, no tensor parallelism, experts over 64, activations kept in FP8
    "DeepSeek-V3": (
        {
            "parameters": 671e9,
            "expert_parameters": 656e9,
            "layers": 61,
            "hidden": 7168,
            "heads": 128,
            "head_width": 128,
            "feed_forward": 2048,
            "gated": True,
            "active_experts": 9,
            "sequence": 4096,
            "shard": "optimizer",
            "activations": "fp8",
            "recompute": "feed-forward",
        },
        (1, 16, 128, 1, 64),
        "80 GiB",
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_published_training_runs_fit(name: str) -> None:
    fields, (tensor, pipeline, data, context, expert), has = TRAINED[name]
    how = Parallelism(tensor=tensor, pipeline=pipeline, data=data, context=context, expert=expert)
    memory = compute_memory_demand(ModelShape.model_validate(fields), how, Size(has))
    assert memory.fits, memory


@pytest.mark.parametrize(
    "name, less",
    [
        ("MT-NLG", {"recompute": "nothing"}),  # the reason for selective recomputation
        ("DeepSeek-V3", {"activations": None}),  # the reason for keeping them in FP8
        ("OPT", {"shard": "nothing"}),
        ("PaLM", {"shard": "optimizer"}),
        ("1T", {"recompute": "attention", "micro_batch": 8}),
    ],
)
def test_published_training_runs_need_their_memory_savings(name: str, less: dict[str, Any]) -> None:
    fields, (tensor, pipeline, data, context, expert), has = TRAINED[name]
    how = Parallelism(tensor=tensor, pipeline=pipeline, data=data, context=context, expert=expert)
    model = ModelShape.model_validate(fields | less)
    assert not compute_memory_demand(model, how, Size(has)).fits
    words, change = suggest_fitting_change(model, how, Size(has), 8)
    assert change, words


def test_the_logits_of_the_vocabulary_are_counted() -> None:
    """Four bytes for each token and word, split as the tensors are; pipelines hold them where there is less else."""
    model = LLAMA.model_copy(update={"vocabulary": 128_256})
    alone, more = (compute_memory_demand(item, Parallelism(tensor=8), OF_80).activations for item in (LLAMA, model))
    assert alone and more and (more - alone) == Size(4 * 8192 * 128_256 // 8, "B")
    staged = Parallelism(tensor=8, pipeline=2)
    assert (
        compute_memory_demand(LLAMA, staged, OF_80).activations
        == compute_memory_demand(model, staged, OF_80).activations
    )


def test_attention_heads_can_be_wider_than_the_model() -> None:
    model = ModelShape(parameters=1e9, layers=1, hidden=1024, heads=8, head_width=256, sequence=1024)
    plain, _ = compute_activation_factors(model.model_copy(update={"head_width": None}))
    assert compute_activation_factors(model)[0] - plain == 2 + 2 * 2 + 2, (
        "queries, keys, values and output are twice as wide"
    )
