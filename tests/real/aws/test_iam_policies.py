"""What the roles of a cluster may do: calls that it makes and calls of an attacker, evaluated by a simulator of IAM.

The policies are those that the real Pulumi engine has created in the emulated AWS. ``policies.py`` says which
simulator it is, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from emulator import Emulator
from enforced import try_calls
from policies import ALLOWED, HERE, Account, Call
from real.pulumi.engine import Engine

Start = Callable[..., Engine]

pytestmark = pytest.mark.extended

DATA = yaml.safe_load((HERE / "policies.yaml").read_text())
FEWEST = 30
"""Needed and forbidden calls, at least."""


def read_calls(name: str, kind: str) -> list[Call]:
    return [Call(**row) for row in DATA["calls"][name][kind]]


def open_account(name: str, start: Start, emulator: Emulator) -> Account:
    engine = start(DATA["specs"][name])
    engine.up()
    return Account(engine, emulator, yaml.safe_load(DATA["specs"][name])["site"]["region"])


def describe(call: Call, result: str) -> str:
    return f"{call.who}: {call.action} on {call.resource} ({call.why}) {dict(call.keys)}: {result}"


def check_calls(account: Account, name: str) -> None:
    """Needed calls are allowed. Forbidden ones are denied, by the policies that they are to be denied by."""
    needed, forbidden = read_calls(name, "needed"), read_calls(name, "forbidden")
    refused = [
        describe(call, message)
        for call, message in zip(needed, account.evaluate(needed), strict=True)
        if message != ALLOWED
    ]
    assert not refused, "needed and refused:\n" + "\n".join(refused)
    results = account.evaluate(forbidden)
    open_calls = [
        describe(call, message) for call, message in zip(forbidden, results, strict=True) if message == ALLOWED
    ]
    assert not open_calls, "forbidden and allowed:\n" + "\n".join(open_calls)
    anyway = account.evaluate(forbidden, is_omnipotent=True)
    other = [
        describe(call, message)
        for call, message in zip(forbidden, anyway, strict=True)
        if (message == ALLOWED) == call.by_resource
    ]
    assert not other, "denied for another reason than the file says:\n" + "\n".join(other)
    print(f"{name}: {len(needed)} needed calls allowed, {len(forbidden)} forbidden calls denied")


def test_roles_of_tenants_and_machines(start: Start, emulator: Emulator) -> None:
    account = open_account("tenants", start, emulator)
    check_calls(account, "tenants")
    output = try_calls(account)
    assert {call: result for call, result in output["needed"].items() if result != "done"} == {}
    assert {call: result for call, result in output["forbidden"].items() if result != "refused"} == {}


@pytest.mark.parametrize("name", ["managed", "kubernetes"])
def test_roles_of_other_clusters(name: str, start: Start, emulator: Emulator) -> None:
    check_calls(open_account(name, start, emulator), name)


def test_there_are_enough_calls_and_each_role_has_some() -> None:
    rows: dict[str, list[Any]] = {
        kind: [row for name in DATA["specs"] for row in DATA["calls"][name][kind]] for kind in ("needed", "forbidden")
    }
    for kind, found in rows.items():
        assert len({str(row) for row in found}) == len(found) >= FEWEST, kind
        assert {"controller", "login", "node", "users"} <= {row["who"] for row in found}
