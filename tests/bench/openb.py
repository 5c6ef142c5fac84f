"""Fragmentation Gradient Descent and its rivals on the openb trace (Weng et al., USENIX ATC 2023), in process.

The data is public: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv, or the experiments of
github.com/hkust-adsl/kubernetes-scheduler-simulator. Give the folder that holds ``openb_node_list_gpu_node.csv`` and
``openb_pod_list_default.csv``. The method is the simulator's: pods arrive one by one in a shuffled order until 130 % of
all accelerators were asked for, are placed or dropped, and never leave. The order of nodes, which settles ties, is not
published: it is drawn for each seed.
"""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

GPUS = 8
POLICIES = ("random", "best-fit", "fgd")
Pod = tuple[int, int, int, int, str]
"""Processor (milli), memory, milli of each accelerator, accelerators, types that will do."""


def read(folder: Path, trace: str) -> tuple[list[dict[str, str]], list[Pod]]:
    with open(folder / "openb_node_list_gpu_node.csv", newline="") as file:
        nodes = list(csv.DictReader(file))
    with open(folder / f"openb_pod_list_{trace}.csv", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    return nodes, [
        (
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            int(row["gpu_milli"] or 0),
            int(row["num_gpu"] or 0),
            row.get("gpu_spec") or "",
        )
        for row in rows
    ]


class Typical:
    """The pods that make up 95 % of a trace: what is left is judged by them."""

    def __init__(self, pods: list[Pod], models: list[str]):
        counted = Counter((cpu, milli, number, spec) for cpu, _, milli, number, spec in pods)
        kinds, reached = [], 0
        for kind, count in sorted(counted.items(), key=lambda item: (item[1], item[0]), reverse=True):
            if reached >= 0.95 * len(pods):
                break
            kinds.append((kind, count))
            reached += count
        self.share = np.array([count / reached for _, count in kinds])
        self.cpu = np.array([kind[0] for kind, _ in kinds])
        self.milli = np.array([kind[1] for kind, _ in kinds])
        self.number = np.array([kind[2] for kind, _ in kinds])
        self.allowed = np.array([[not kind[3] or model in kind[3].split("|") for model in models] for kind, _ in kinds])

    def fragments(self, gpu: Any, cpu: Any, model: Any) -> Any:
        """Expected fragment of nodes: rows of accelerators' milli, processors, models."""
        idle = gpu.sum(axis=1)
        fits = gpu[:, None, :] >= np.maximum(self.milli, 1)[None, :, None]
        enough = (fits.sum(axis=2) >= self.number) & (cpu[:, None] >= self.cpu) & self.allowed[:, model].T
        small = np.where(fits, 0, gpu[:, None, :]).sum(axis=2)
        return np.where(enough & (self.number > 0), small, idle[:, None]) @ self.share


class Run:
    """One policy on one order of pods and nodes."""

    def __init__(self, nodes: list[dict[str, str]], pods: list[Pod], policy: str, seed: int):
        self.policy, self.dice = policy, random.Random(seed)
        nodes = self.dice.sample(nodes, len(nodes))
        self.models = sorted({node["model"] for node in nodes})
        self.typical = Typical(pods, self.models)
        self.cpu = np.array([int(node["cpu_milli"]) for node in nodes])
        self.memory = np.array([int(node["memory_mib"]) for node in nodes])
        self.model = np.array([self.models.index(node["model"]) for node in nodes])
        self.gpu = np.array([[1000 if slot < int(node["gpu"]) else 0 for slot in range(GPUS)] for node in nodes])
        self.capacity = int(self.gpu.sum())
        self.changes: list[int] = []
        self.known: dict[Pod, tuple[Any, Any, int]] = {}

    def get_scores(self, pod: Pod) -> tuple[Any, Any]:
        """Scores and chosen accelerator of every node: only nodes that changed are scored again."""
        scores, choice, seen = self.known.get(pod, (np.zeros(len(self.cpu)), np.zeros(len(self.cpu), int), -1))
        dirty = np.arange(len(self.cpu)) if seen < 0 else np.unique(np.array(self.changes[seen:], int))
        if len(dirty):
            scores[dirty], choice[dirty] = self.score(pod, dirty)
        self.known[pod] = (scores, choice, len(self.changes))
        return scores, choice

    def score(self, pod: Pod, rows: Any) -> tuple[Any, Any]:
        cpu, memory, milli, number, spec = pod
        gpu, left = self.gpu[rows], self.cpu[rows] - cpu
        good = np.array([not spec or model in spec.split("|") for model in self.models])[self.model[rows]]
        good &= (left >= 0) & (self.memory[rows] >= memory) & ((gpu >= max(milli, 1)).sum(axis=1) >= number)
        shared = number == 1 and milli < 1000
        tight = np.argmin(np.where(gpu >= milli, gpu, 9999), axis=1)
        if self.policy == "random":
            return np.where(good, 0, -1), tight
        if self.policy == "best-fit":
            after = gpu.sum(axis=1) - milli * number
            return np.where(good, 1e6 - 0.5 * left / 128_000 - 0.5 * after / 8000, -1), tight
        before = self.typical.fragments(gpu, self.cpu[rows], self.model[rows])
        if not shared:
            taken = (gpu == 1000) & (np.cumsum(gpu == 1000, axis=1) <= number)
            after = self.typical.fragments(np.where(taken, 0, gpu), left, self.model[rows])
            return np.where(good, self.points(before - after), -1), tight
        tries = np.full((len(rows), GPUS), -1.0)
        for slot in range(GPUS):
            fits = gpu[:, slot] >= milli
            if fits.any():
                other = gpu[fits].copy()
                other[:, slot] -= milli
                after = self.typical.fragments(other, left[fits], self.model[rows][fits])
                tries[fits, slot] = self.points(before[fits] - after)
        return np.where(good, tries.max(axis=1), -1), tries.argmax(axis=1)

    @staticmethod
    def points(gradient: Any) -> Any:
        return np.floor(100 / (1 + np.exp(-gradient / 1000)))

    def place(self, pod: Pod) -> bool:
        cpu, memory, milli, number, _ = pod
        scores, choice = self.get_scores(pod)
        node = int(np.argmax(scores))
        if scores[node] < 0:
            return False
        if self.policy == "random":
            node = self.dice.choice(np.flatnonzero(scores >= 0).tolist())
        if number == 1 and milli < 1000:
            slot = int(choice[node])
            if self.policy == "random":
                slot = self.dice.choice(np.flatnonzero(self.gpu[node] >= milli).tolist())
            self.gpu[node, slot] -= milli
        elif number:
            self.gpu[node, np.flatnonzero(self.gpu[node] == 1000)[:number]] = 0
        self.cpu[node] -= cpu
        self.memory[node] -= memory
        self.changes.append(node)
        return True


def draw_arrivals(pods: list[Pod], capacity: int, dice: random.Random) -> list[Pod]:
    """Shuffled, and cut or filled up to 130 % of the accelerators."""
    order = dice.sample(pods, len(pods))
    target, asked = 1.3 * capacity, sum(pod[2] * pod[3] for pod in pods)
    while asked > target:
        asked -= (gone := order.pop(dice.randrange(len(order))))[2] * gone[3]
    while asked + (more := dice.choice(pods))[2] <= target:
        order.append(more)
        asked += more[2] * more[3]
    return order


def measure_allocation(folder: Path, trace: str, policy: str, seed: int) -> dict[int, float]:
    """Accelerators in use, in percent, when 100 and 130 percent were asked for."""
    nodes, pods = read(folder, trace)
    run = Run(nodes, pods, policy, seed)
    asked = used = 0
    at: dict[int, list[float]] = {}
    for pod in draw_arrivals(pods, run.capacity, random.Random(seed)):
        asked += pod[2] * pod[3]
        used += pod[2] * pod[3] if run.place(pod) else 0
        at.setdefault(round(100 * asked / run.capacity), []).append(100 * used / run.capacity)
    return {percent: sum(at[percent]) / len(at[percent]) for percent in (100, 130) if percent in at}


def read_published_results(folder: Path, trace: str, policy: str) -> dict[int, float]:
    """The authors' results, if their summary is in the folder of the data."""
    name = {"random": "Random", "best-fit": "BestFit", "fgd": "FGD"}[policy]
    file = folder / "expected.csv"
    if not file.is_file():
        return {}
    with open(file, newline="") as opened:
        for row in csv.DictReader(opened):
            if row["workload"] == trace and row["policy"].endswith(f"-{name}"):
                return {percent: float(row[f"alloc_mean@{percent}"]) for percent in (100, 130)}
    return {}
