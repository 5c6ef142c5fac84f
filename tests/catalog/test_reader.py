"""Overlays and refusals of the reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from supercloud.catalog import Accelerator, Catalog, Machine, Rack, Switch
from supercloud.catalog.reader import OVERLAY_VARIABLE
from supercloud.errors import CatalogError, SpecError, UnknownNameError, suggest_nearest
from supercloud.primitives.quantity import Power, Size

RACK = "name: mine\ntitle: My rack\nsource: [measured in our hall]\nunits: 50\n"


def write_overlay(folder: Path, kind: str, name: str, text: str) -> Path:
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def test_an_overlay_adds_entries(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "racks", "mine", RACK)])
    assert catalog.get(Rack, "mine").units == 50
    assert "mine" in catalog.list_names("racks") and "orv3-48u" in catalog.list_names("racks")
    assert "mine" not in Catalog().list_names("racks")


def test_an_overlay_overrides_one_field(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "machines", "dgx-h100", "power: 11.3 kW\nbody: {weight: 131 kg}\n")])
    mine, shipped = catalog.get(Machine, "dgx-h100"), Catalog().get(Machine, "dgx-h100")
    assert mine.power == Power("11.3 kW")
    assert str(mine.body.weight) == "131 kg"
    assert mine.body.units == shipped.body.units and mine.adapters == shipped.adapters


def test_values_of_an_overlay_have_its_sources_or_are_unverified(tmp_path: Path) -> None:
    """A changed power stood under the sources of the vendor, or the overlay's source under all other values."""
    shipped = Catalog().get(Machine, "dgx-h100")
    text = "source: [power meter]\npower: 11.3 kW\n"
    sourced = Catalog([write_overlay(tmp_path / "a", "machines", "dgx-h100", text)]).get(Machine, "dgx-h100")
    assert sourced.source == ("power meter", *shipped.source) and sourced.unverified == shipped.unverified
    plain = Catalog([write_overlay(tmp_path / "b", "machines", "dgx-h100", "power: 11.3 kW\n")]).get(
        Machine, "dgx-h100"
    )
    assert plain.source == shipped.source and plain.unverified == (*shipped.unverified, "power")


def test_a_key_that_an_overlay_has_twice_is_an_error(tmp_path: Path) -> None:
    overlay = write_overlay(tmp_path, "machines", "dgx-h100", "power: 11.3 kW\npower: 12 kW\n")
    with pytest.raises(SpecError, match="duplicate key 'power'"):
        Catalog([overlay]).get(Machine, "dgx-h100")


def test_an_overlay_removes_a_field_with_null(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "machines", "dgx-h100", "power: null\nheat: {airflow: null}\n")])
    assert catalog.get(Machine, "dgx-h100").power is None
    assert catalog.get(Machine, "dgx-h100").heat.airflow is None
    assert catalog.get(Machine, "dgx-h100").heat.methods == ("air",)


def test_a_later_overlay_takes_precedence(tmp_path: Path) -> None:
    first = write_overlay(tmp_path / "a", "racks", "mine", RACK)
    second = write_overlay(tmp_path / "b", "racks", "mine", "units: 51\n")
    assert Catalog([first, second]).get(Rack, "mine").units == 51


def test_an_overlay_is_read_from_the_environment_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERLAY_VARIABLE, str(write_overlay(tmp_path / "a", "racks", "mine", RACK)))
    more = write_overlay(tmp_path / "b", "accelerators", "h100-sxm", "memory: 96 GiB\n")
    catalog = Catalog.load_default(more)
    assert catalog.get(Rack, "mine").units == 50
    assert catalog.get(Accelerator, "h100-sxm").memory == Size("96 GiB")


def test_an_overlay_with_an_unknown_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "gpus").mkdir()
    with pytest.raises(CatalogError, match="unknown kind 'gpus'; kinds are accelerators"):
        Catalog([tmp_path])


def test_names_in_a_folder_that_is_not_an_overlay_are_not_shown(tmp_path: Path) -> None:
    for name in ("customer-acme", ".ssh", "machine"):
        (tmp_path / name).mkdir()
    with pytest.raises(CatalogError, match="unknown kind 'machine', 2 other directories; kinds are") as caught:
        Catalog([tmp_path])
    assert "acme" not in str(caught.value) and "ssh" not in str(caught.value)
    (tmp_path / "machine").rmdir()
    with pytest.raises(CatalogError, match="2 directories are not of a known kind; kinds are") as caught:
        Catalog([tmp_path])
    assert "acme" not in str(caught.value) and "ssh" not in str(caught.value)


def test_a_missing_overlay_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="is not a directory"):
        Catalog([tmp_path / "nowhere"])


def test_an_unknown_key_is_reported_with_its_location_and_the_nearest_name(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "machines", "dgx-h100", "# ours\nbody:\n  wieght: 131 kg\n")])
    with pytest.raises(CatalogError) as caught:
        catalog.get(Machine, "dgx-h100")
    finding = caught.value.findings[0]
    assert finding.path == "body.wieght" and "weight" in finding.hint
    assert (finding.file, finding.line) == (str(tmp_path / "machines" / "dgx-h100.yaml"), 3)
    assert f"{finding.file}:3" in str(caught.value)


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "racks", "mine", RACK + "width: 600\nbusbar: 12V\n")])
    with pytest.raises(CatalogError) as caught:
        catalog.get(Rack, "mine")
    assert {finding.path for finding in caught.value.findings} == {"width", "busbar"}
    assert {finding.line for finding in caught.value.findings} == {5, 6}


def test_a_new_entry_needs_a_source(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "racks", "mine", "name: mine\ntitle: My rack\nunits: 50\n")])
    with pytest.raises(CatalogError, match="source"):
        catalog.get(Rack, "mine")


def test_a_file_has_the_name_of_its_entry(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "racks", "yours", RACK)])
    with pytest.raises(CatalogError, match="has the name 'mine'"):
        catalog.get(Rack, "yours")


def test_a_file_must_be_a_mapping(tmp_path: Path) -> None:
    catalog = Catalog([write_overlay(tmp_path, "racks", "mine", "- 1\n")])
    with pytest.raises(CatalogError, match="must be a mapping"):
        catalog.get(Rack, "mine")


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown machine 'dgx-h10'.*dgx-h100"):
        Catalog().get(Machine, "dgx-h10")
    with pytest.raises(UnknownNameError, match="unknown switch 'nvidia-qm970'.*nvidia-qm9700"):
        Catalog().get(Switch, "nvidia-qm970")


def test_few_or_short_known_names_are_all_listed() -> None:
    few, short = [f"{letter}{'-long' * 40}" for letter in "abc"], [chr(number) * 4 for number in range(97, 123)]
    assert suggest_nearest("1", few) == f"known: {', '.join(few)}"
    assert len(short) > 12 and suggest_nearest("1", short) == f"known: {', '.join(short)}"
    assert suggest_nearest("1", [f"{name}-{name}" for name in short]).startswith("26 known names, such as aaaa-aaaa, ")


def test_an_unknown_kind_is_rejected() -> None:
    with pytest.raises(UnknownNameError, match="kind of catalog entry"):
        Catalog().list_names("gpus")


def test_entries_are_read_once() -> None:
    catalog = Catalog()
    assert catalog.get(Rack, "orv3-48u") is catalog.get(Rack, "orv3-48u")
    assert [fact.name for fact in catalog.iter_entries(Rack)] == catalog.list_names("racks")
