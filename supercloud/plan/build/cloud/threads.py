"""Machines of a cloud that show one hardware thread of each core."""

from __future__ import annotations

from ....catalog import Machine

__all__ = ["with_single_threads"]


def with_single_threads(machine: Machine) -> Machine:
    """The machine with one thread of each core; unchanged if it is not an instance, or if its cores are unknown."""
    cpu, instance = machine.cpu, machine.instance
    if cpu is None or instance is None:
        return machine
    single = cpu.model_copy(update={"threads_per_core": 1})
    return machine.model_copy(update={"cpu": single, "instance": instance.model_copy(update={"vcpus": single.threads})})
