"""The table of switch dialects: each is complete, and what a dialect lacks is an error that names it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec
from samples import ROOT

from supercloud.catalog import Catalog
from supercloud.errors import InputError
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.templates import render_template
from supercloud.spec.loader import load
from supercloud.targets import render
from supercloud.targets.site import dialects
from supercloud.targets.site.dialects import DIALECTS, BridgedFiles, RoutedFiles, SwitchDialect, Unsupported
from supercloud.targets.site.dialects.eos import DIALECT as EOS

TEMPLATES = ROOT / "templates"
ROCE = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600", "leaf_down": 8}
ROCE |= {"leaf_up": 8, "su": 8}


def build_plan(**changes: Any) -> Plan:
    plan = plan_spec(pools=build_pools("dgx-h100", 16), fabrics=[ROCE | changes])
    assert not plan.errors, plan.errors
    return plan


def replace_eos(monkeypatch: pytest.MonkeyPatch, dialect: object) -> None:
    module = ModuleType("supercloud_test_dialect")
    module.DIALECT = dialect  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(DIALECTS, "eos", f"{module.__name__}:DIALECT")


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_lists_the_templates_in_its_folder(name: str) -> None:
    folder = TEMPLATES / "dialects" / name
    found = {str(path.relative_to(TEMPLATES)) for path in folder.iterdir()}
    texts = "".join(path.read_text() for path in folder.iterdir())
    listed = set(dialects.load_dialect(name).list_templates())
    assert found - {item for item in found if f'include "{item}"' in texts} <= listed
    assert all((TEMPLATES / item).is_file() for item in listed)


def test_an_unknown_dialect_is_an_error_that_lists_those_that_exist(tmp_path: Path) -> None:
    folder = tmp_path / "network-systems"
    folder.mkdir()
    (folder / "eos.yaml").write_text("name: eos\ndialect: junos\n")
    spec = build_plan(os="eos").spec
    plan = resolve(spec, Catalog([tmp_path]))
    assert not plan.errors, "a plan does not need the files of switches"
    with pytest.raises(InputError) as caught:
        render(plan, "roce")
    (finding,) = caught.value.findings
    assert finding.path == "fabrics[0].os"
    assert finding.check == "switch-dialect"
    assert finding.problem == "network system 'eos' has the unknown switch dialect 'junos'"
    assert finding.hint.endswith("dialects: eos, frr, nvue, sonic")
    plan = resolve(plan_spec(pools=build_pools("dgx-h100", 16), fabrics=[ROCE | {"systems": {"leaf": "eos"}}]).spec)
    plan = resolve(plan.spec, Catalog([tmp_path]))
    with pytest.raises(InputError) as caught:
        render(plan, "roce")
    assert [item.path for item in caught.value.findings] == ["fabrics[0].systems.leaf", "fabrics[0].systems.spine"]


def test_a_missing_template_is_named_before_anything_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(EOS.routed, RoutedFiles)
    broken = replace(EOS.routed, load_template="dialects/eos/load-nothing.md.j2")
    replace_eos(monkeypatch, replace(EOS, routed=broken, templates=("dialects/eos/nothing.cfg.j2",)))
    with pytest.raises(InputError) as caught:
        render(build_plan(os="eos"), "roce")
    assert str(caught.value) == (
        "switch dialect 'eos' is incomplete: missing templates/dialects/eos/nothing.cfg.j2, "
        "templates/dialects/eos/load-nothing.md.j2"
    )
    with pytest.raises(LookupError, match=r"templates/dialects/eos/nothing.cfg.j2 does not exist"):
        render_template("dialects/eos/nothing.cfg.j2")


def test_a_missing_object_or_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_eos(monkeypatch, None)
    with pytest.raises(InputError, match="switch dialect 'eos' is incomplete: .* has no SwitchDialect 'DIALECT'"):
        render(build_plan(os="eos"), "roce")
    with pytest.raises(TypeError, match="render_tier"):
        RoutedFiles(render_switch=EOS.routed.render_switch, load_template="")  # type: ignore[call-arg, union-attr]
    with pytest.raises(TypeError, match="render_switch"):
        BridgedFiles(load_template="")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="bridged"):
        SwitchDialect(routed=EOS.routed, templates=())  # type: ignore[call-arg]


def test_a_dialect_without_routing_is_an_error_of_routed_fabrics(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_eos(monkeypatch, replace(EOS, routed=Unsupported("it has no BGP")))
    with pytest.raises(InputError) as caught:
        render(build_plan(os="eos"), "roce")
    (finding,) = caught.value.findings
    assert finding.problem == "the switch dialect 'eos' does not configure routed fabrics: it has no BGP"


def test_a_dialect_without_bridging_gives_a_reason_in_the_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_eos(monkeypatch, replace(EOS, bridged=Unsupported("it has no VLANs")))
    plan = resolve(load(ROOT / "examples/05-superpod-networks/cluster.yaml"))
    fabrics = [item.model_copy(update={"os": "eos"}) if item.kind == "ethernet" else item for item in plan.spec.fabrics]
    plan = resolve(plan.spec.model_copy(update={"fabrics": tuple(fabrics)}))
    bundle = render(plan, "ethernet")
    assert "| none: it has no VLANs |" in bundle["INSTALL.md"]
    assert not [path for path in bundle if path.endswith(".cfg")]
