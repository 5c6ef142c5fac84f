"""The one error of this package: numbers that cannot form a fabric."""

from __future__ import annotations


class TopologyError(ValueError):
    """The given numbers cannot form a fabric: the problem with its values, and values that would fit."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem}; {self.hint}"


class NoFreePortsError(TopologyError):
    """Nodes and uplinks leave too few leaf ports for the reserved links: ``lacking`` of them have no port, and each
    removed node would release ``per_node`` ports.
    """

    def __init__(self, problem: str, hint: str, missing_ports: int, ports_per_node: int) -> None:
        super().__init__(problem, hint)
        self.lacking, self.per_node = missing_ports, ports_per_node


def require_at_least(minimum: int, **values: int | None) -> None:
    """Refuse a value below `minimum`; None means "not given" and passes."""
    for name, value in values.items():
        if value is not None and value < minimum:
            raise TopologyError(f"{name} is {value}", f"{name} must be {minimum} or more")
