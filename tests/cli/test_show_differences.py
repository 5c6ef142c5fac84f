"""``supercloud diff``: no change of a spec is hidden, and no broken spec is compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import ROOT

pytestmark = pytest.mark.slow

Cli = Callable[..., tuple[int, str, str]]
SUPERPOD = ROOT / "examples/02-superpod/cluster.yaml"

SMALL: dict[str, Any] = {
    "name": "small",
    "site": {"kind": "onprem", "location": "stockholm"},
    "scheduler": {"kind": "slurm", "version": "25.11"},
    "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 2}],
}


def write_changed(tmp_path: Path, spec: Path = SUPERPOD, **changes: object) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(spec.read_text()) | changes))
    return file


def test_changes_are_listed_and_counted_by_impact(cli: Cli, tmp_path: Path) -> None:
    code, out, err = cli("diff", SUPERPOD, write_changed(tmp_path, tenants=[{"name": "llm", "share": 1}]))
    assert code == 0 and "removes" in out and "tenants[vision]" in out
    assert "1 removal" in err and "in place" in err and "disruptive" not in err


def test_equal_specs_differ_in_nothing(cli: Cli, tmp_path: Path) -> None:
    assert cli("diff", SUPERPOD, SUPERPOD) == (0, "", "no differences: the plans and the rendered files are equal\n")


def test_the_exit_code_tells_whether_there_are_differences_if_asked(cli: Cli, tmp_path: Path) -> None:
    changed = write_changed(tmp_path, name="other")
    assert cli("diff", "--exit-code", SUPERPOD, SUPERPOD)[0] == 0
    assert cli("diff", "--exit-code", SUPERPOD, changed)[0] == 1
    assert cli("diff", SUPERPOD, changed)[0] == 0


def test_a_spec_with_errors_is_not_compared(cli: Cli, tmp_path: Path) -> None:
    broken = write_changed(tmp_path, pools=[{"name": "train", "machine": "dgx-h10", "nodes": 1}])
    code, out, err = cli("diff", SUPERPOD, broken)
    assert code == 2 and out == ""
    assert f"{broken}:" in err and "unknown machine 'dgx-h10'" in err
    code, _, err = cli("diff", broken, SUPERPOD)
    assert code == 0 and "unknown machine 'dgx-h10'" in err


def test_all_errors_of_the_old_spec_are_printed(cli: Cli, tmp_path: Path) -> None:
    pools = [{"name": name, "machine": f"dgx-{name}", "nodes": 1} for name in ("aa", "bb", "cc")]
    err = cli("diff", write_changed(tmp_path, pools=pools), SUPERPOD)[2]
    assert all(f"unknown machine 'dgx-{name}'" in err for name in ("aa", "bb", "cc"))


def test_values_are_printed_in_the_notation_of_specs(cli: Cli, tmp_path: Path) -> None:
    """Not in that of Python: quotes of lists, true and null are those of JSON and YAML."""
    old = write_changed(tmp_path, **SMALL)
    new = old.with_name("new.yaml")
    more = {"name": "more", "machine": "dgx-h100", "nodes": 1}
    changes = {"pools": [*SMALL["pools"], more], "users": [{"name": "ada", "uid": 20001, "administrator": True}]}
    old.write_text(yaml.safe_dump(SMALL | {"users": [{"name": "ada", "uid": 20001}]}))
    new.write_text(yaml.safe_dump(SMALL | changes))
    out = cli("diff", old, new)[1]
    assert '["train"] -> ["train", "more"]' in out and "false -> true" in out
    assert not [word for word in ("['", "True", "False", "None", "elsewhere") if word in out]


def test_moved_cables_are_counted_in_words(cli: Cli, tmp_path: Path) -> None:
    fabrics = [{"name": "compute", "kind": "infiniband", "switch": "nvidia-qm9700"}]
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    for file, nodes in ((old, 8), (new, 12)):
        pools = [{"name": "train", "machine": "dgx-h100", "nodes": nodes, "fabrics": ["compute"]}]
        file.write_text(yaml.safe_dump(SMALL | {"pools": pools, "fabrics": fabrics}))
    assert "fabrics[compute].node_links" in (out := cli("diff", old, new)[1])
    assert "32 of 64 cables end at another port" in out


def test_rendered_files_that_change_are_listed(cli: Cli, tmp_path: Path) -> None:
    scheduler = yaml.safe_load(SUPERPOD.read_text())["scheduler"] | {"options": {"MaxJobCount": "50000"}}
    out = cli("diff", "--files", SUPERPOD, write_changed(tmp_path, scheduler=scheduler))[1]
    assert "files[slurm/slurm.conf]" in out and "files[cabling" not in out


def test_files_are_compared_if_the_plans_are_equal(cli: Cli, tmp_path: Path) -> None:
    """A file named in the spec, with other content: neither the spec nor the plan differs."""
    paths = []
    for folder, mac in (("a", "02:00:00:00:00:01"), ("b", "02:00:00:00:00:02")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "macs.csv").write_text(f"train-0001,bmc,{mac}\n")
        paths.append(write_changed(tmp_path / folder, network={"macs": "macs.csv"}))
    code, out, _ = cli("diff", *paths)
    assert code == 0 and "files[ethernet/" in out or "files[hosts/" in out


def test_another_order_is_a_change(cli: Cli, tmp_path: Path) -> None:
    """Kinds of capacity are tried in their order: they are told apart by their kind, and none of them differs."""
    spec = ROOT / "examples/09-aws-slurm/cluster.yaml"
    pools = yaml.safe_load(spec.read_text())["pools"]
    pools[0] = pools[0] | {"capacity": pools[0]["capacity"][::-1]}
    out = cli("diff", spec, write_changed(tmp_path, spec, pools=pools))[1]
    assert "pools[train].capacity" in out and "the order" in out


def test_json_has_whole_values(cli: Cli, tmp_path: Path) -> None:
    tags = {"project": "x" * 100}
    changes = json.loads(cli("diff", SUPERPOD, write_changed(tmp_path, tags=tags), "--json")[1])
    assert [(change["path"], change["new"]) for change in changes] == [("tags.project", "x" * 100)]


AWS = ROOT / "examples/09-aws-slurm/cluster.yaml"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINLv2qQ0WZSoYIorpBHZQPO7u21azCY8MB7JbH2NuEVn eve"
EVE = {"name": "eve", "uid": 2003, "administrator": True, "keys": [KEY]}


def test_a_replaced_key_and_an_added_one_are_shown(cli: Cli, tmp_path: Path) -> None:
    ada, grace = yaml.safe_load(AWS.read_text())["users"]
    users = [ada | {"keys": [*ada["keys"], KEY]}, grace | {"keys": [KEY]}]
    out = cli("diff", AWS, write_changed(tmp_path, AWS, users=users))[1]
    lines = {" ".join(line.split()) for line in out.splitlines()}
    assert lines == {
        f"changes users[ada].keys + {KEY}",
        f"changes users[grace].keys - {grace['keys'][0]}",
        f"changes users[grace].keys + {KEY}",
    }


def test_the_fields_of_an_added_user_are_shown(cli: Cli, tmp_path: Path) -> None:
    """A name alone would hide that the user is an administrator, also if the spec names a file of users."""
    users = yaml.safe_load(AWS.read_text())["users"]
    (tmp_path / "users.yaml").write_text(yaml.safe_dump([*users, EVE]))
    for changed in ([*users, EVE], "users.yaml"):
        new = write_changed(tmp_path, AWS, users=changed)
        out = cli("diff", AWS, new)[1]
        assert all(f"users[eve]  + {field}" in out for field in ("uid: 2003", "administrator: true", f"keys[0]: {KEY}"))
        [change] = json.loads(cli("diff", AWS, new, "--json")[1])
        assert (change["path"], change["old"], change["new"]) == ("users[eve]", None, EVE)
        [change] = json.loads(cli("diff", new, AWS, "--json")[1])
        assert (change["path"], change["old"], change["new"]) == ("users[eve]", EVE, None)


def test_an_added_suppression_is_shown(cli: Cli, tmp_path: Path) -> None:
    suppress = [*yaml.safe_load(AWS.read_text())["suppress"], {"check": "cloud-access", "reason": "x"}]
    out = cli("diff", AWS, write_changed(tmp_path, AWS, suppress=suppress))[1]
    assert out == 'adds  suppress[cloud-access]  (nothing) -> {"check": "cloud-access", "reason": "x"}\n'


@pytest.mark.parametrize(
    "old, new",
    [
        ("x" * 500, "x" * 501),
        ("a" * 300 + "b" + "c" * 300, "a" * 300 + "d" + "c" * 300),
        ("a" * 200, "b" * 200),
        (["a" * 300 + "b" + "c" * 300], ["a" * 300 + "d" + "c" * 300]),
        (["a" * 90, "b"], ["b", "a" * 90]),
        ([{"check": "a", "path": "p" * 90}, {"check": "a"}], [{"check": "a", "path": "q" * 90}, {"check": "a"}]),
        (None, {"name": "a", "hosts": {"names": ["b" * 90, "c"]}}),
        ({"name": "a", "keys": ["k" * 300, None]}, None),
        (["x"] * 60, ["x"] * 61),
    ],
)
def test_different_values_are_shown_as_different_texts(old: object, new: object) -> None:
    from supercloud.cli.difference import build_change_rows
    from supercloud.plan.publish.diff import Change

    cells = [row[2] for row in build_change_rows(Change("a", old, new, "changes"))]
    assert all(len(cell) <= 700 for cell in cells) and len(set(cells)) == len(cells) > 0
    for cell in cells:
        left, arrow, right = cell.partition(" -> ")
        assert left != right if arrow else cell[:2] in ("- ", "+ ")


def test_check_counts_suppressed_findings_and_names_suppressed_errors(cli: Cli, tmp_path: Path) -> None:
    base = SMALL | {"facility": {"rack": {"type": "eia-48u"}, "power": {"budget": "1 kW"}}}
    wrong = write_changed(tmp_path, **base, suppress=[{"check": "power-budget", "reason": "the hall is extended"}])
    code, out, err = cli("check", wrong)
    assert code == 0 and "suppressed error: " in out and "[power-budget]\n    reason: the hall is extended\n" in out
    assert err.endswith(", 1 suppressed (1 error)\n")
    notes = write_changed(tmp_path, **SMALL, suppress=[{"check": "service-machines", "reason": "they exist"}])
    code, out, err = cli("check", notes)
    assert code == 0 and "suppressed error" not in out and err.endswith(", 1 suppressed\n")


def iter_leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path, value
        return
    for key, item in items:
        yield from iter_leaves(item, (*path, key))


def change_leaf(spec: object, path: tuple[str | int, ...], value: object) -> object:
    if not path:
        return value
    copied = dict(spec) if isinstance(spec, dict) else list(spec)  # type: ignore[call-overload]
    copied[path[0]] = change_leaf(copied[path[0]], path[1:], value)  # type: ignore[index]
    return copied


def list_other_values(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1, value * 2]
    number = str(value).split(" ")[0]
    doubled = [str(value).replace(number, str(int(number) * 2))] if number.isdigit() else []
    return [*doubled, f"{value}x", *({"25.11", "24.11"} - {value})]


@pytest.mark.exhaustive
@pytest.mark.parametrize("example", ["05-superpod-networks", "07-storage", "08-kubernetes", "09-aws-slurm"])
def test_a_change_of_any_declared_value_is_listed(example: str, tmp_path: Path) -> None:
    from supercloud.errors import SupercloudError
    from supercloud.plan.publish.diff import diff_plans
    from supercloud.plan.resolve import resolve
    from supercloud.spec.loader import load

    shutil.copytree(ROOT / "examples" / example, tmp_path / example)
    source = tmp_path / example / "cluster.yaml"
    present, spec = resolve(load(source)), yaml.safe_load(source.read_text())
    compared, hidden = 0, []
    for path, value in iter_leaves(spec):
        for other in list_other_values(value):
            changed = source.with_name("changed.yaml")
            changed.write_text(yaml.safe_dump(change_leaf(spec, path, other)))
            try:
                plan = resolve(load(changed))
            except SupercloudError:
                continue
            if not plan.errors:
                compared += 1
                if not diff_plans(present, plan):
                    hidden.append((path, other))
                break
    assert compared > 20 and hidden == []
