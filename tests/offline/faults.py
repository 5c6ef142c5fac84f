"""Faults that a test plans for the offline cloud: a JSON file of rules, with counters that outlive a process."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .cloud import lock_file


@dataclass(frozen=True)
class Fault:
    """What happens at the ``nth`` call of an operation on URNs that match, ``times`` times."""

    operation: str
    """``create``, ``update`` or ``delete``."""
    match: str = ""
    nth: int = 1
    times: int = 1
    message: str = ""
    """Said to the engine; without one the call goes on after the hold."""
    code: str = "RESOURCE_EXHAUSTED"
    hold: str = ""
    """Wait until this file exists: a call that takes as long as the test wants."""


class Faults:
    """The rules of one file."""

    def __init__(self, path: Path):
        self.path = path

    def plan(self, *faults: Fault) -> None:
        """Replace all rules."""
        with lock_file(self.path) as content:
            content["rules"] = [{**asdict(fault), "calls": 0, "struck": 0} for fault in faults]

    def count_strikes(self) -> int:
        """How often a rule has come into force."""
        if not self.path.exists():
            return 0
        return sum(rule["struck"] for rule in json.loads(self.path.read_text())["rules"])

    def strike(self, operation: str, urn: str) -> Fault | None:
        """The rule for this call; a hold is waited for."""
        if not self.path.exists():
            return None
        hit: Fault | None = None
        with lock_file(self.path) as content:
            for rule in content["rules"]:
                if rule["operation"] != operation or not re.search(rule["match"], urn):
                    continue
                rule["calls"] += 1
                if hit is None and rule["calls"] >= rule["nth"] and rule["struck"] < rule["times"]:
                    rule["struck"] += 1
                    hit = Fault(**{name: rule[name] for name in Fault.__dataclass_fields__})
        while hit and hit.hold and not os.path.exists(hit.hold):
            time.sleep(0.02)
        return hit
