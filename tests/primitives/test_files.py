"""Files that a document names: read up to a size, never waited for, and not shown where they are not what was meant."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import EXAMPLES

from supercloud.catalog import Catalog, Machine
from supercloud.errors import SupercloudError
from supercloud.plan.resolve import resolve
from supercloud.primitives.files import FileReadError, read_bytes, read_text
from supercloud.spec.loader import load, load_fleet, load_job
from supercloud.targets.site.cabling.readers import read_output

SECRET = "$6$s3cr3t$hash"
SHADOW = f"root:{SECRET}:19000:0:99999:7:::\nbin:*:19000:0:99999:7:::\na,b,{SECRET}\n"


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk


def make_shadow(path: Path) -> None:
    path.write_text(SHADOW)


def make_binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00" + SECRET.encode())


ODD = [make_pipe, make_device, make_huge, make_shadow, make_binary, Path.mkdir, lambda path: None]
odd = pytest.mark.parametrize("make", ODD, ids=["pipe", "device", "huge", "shadow", "binary", "folder", "absent"])


@pytest.mark.parametrize("make", [item for item in ODD if item not in (make_shadow, make_binary)])
def test_only_regular_files_below_the_size_limit_are_read(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "x")
    with pytest.raises(FileReadError):
        read_bytes(tmp_path / "x")


def test_text_has_no_byte_order_mark_and_a_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfabc")
    assert read_text(tmp_path / "x") == "abc"
    with pytest.raises(FileReadError, match="more than 5 bytes"):
        read_text(tmp_path / "x", 5)


def _plan_guids(folder: Path) -> Any:
    return _plan_changed_example("01-minimal", folder, lambda spec: spec["fabrics"][0].update(guids="x"))


def _plan_macs(folder: Path) -> Any:
    return _plan_changed_example("01-minimal", folder, lambda spec: spec.setdefault("network", {}).update(macs="x"))


def _plan_weather(folder: Path) -> Any:
    return _plan_changed_example("02-superpod", folder, lambda spec: spec["facility"]["cooling"].update(weather="x"))


def _plan_carbon(folder: Path) -> Any:
    return _plan_changed_example(
        "02-superpod", folder, lambda spec: spec["facility"].setdefault("energy", {}).update(carbon_hours="x")
    )


def _plan_changed_example(name: str, folder: Path, change: Callable[[Any], object]) -> Any:
    spec = yaml.safe_load(next(path for path in EXAMPLES if path.parent.name == name).read_text())
    change(spec)
    (folder / "cluster.yaml").write_text(yaml.safe_dump(spec))
    return resolve(load(folder / "cluster.yaml"))


READERS: dict[str, Callable[[Path], Any]] = {
    "guids": _plan_guids,
    "macs": _plan_macs,
    "weather": _plan_weather,
    "carbon": _plan_carbon,
    "spec": lambda folder: load(folder / "x"),
    "spec as json": lambda folder: load(_join_name(folder, "x.json")),
    "job": lambda folder: load_job(folder / "x"),
    "fleet": lambda folder: load_fleet(folder / "x"),
    "cabling": lambda folder: read_output(folder / "x"),
}


def _join_name(folder: Path, name: str) -> Path:
    if os.path.lexists(folder / "x"):
        (folder / "x").rename(folder / name)
    return folder / name


@pytest.mark.slow
@odd
@pytest.mark.parametrize("reader", READERS)
def test_files_referenced_by_a_spec_are_read_safely(reader: str, make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "x")
    try:
        found = READERS[reader](tmp_path)
        text = "\n".join(map(str, found.errors))
    except SupercloudError as error:
        text = str(error)
    assert text, "nothing was said"
    assert "s3cr3t" not in text


@pytest.mark.parametrize("make", [make_pipe, make_device, make_huge, make_shadow, make_binary])
def test_files_of_an_overlay_are_read_safely(make: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "machines").mkdir()
    make(tmp_path / "machines/dgx-h100.yaml")
    with pytest.raises(SupercloudError) as caught:
        Catalog([tmp_path]).get(Machine, "dgx-h100")
    assert "s3cr3t" not in str(caught.value)


def test_a_file_without_data_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc/kmsg is an ordinary file, and a read of it that may not wait gives nothing at all."""

    class Silent(io.BytesIO):
        def read(self, size: int | None = -1, /) -> Any:
            return None

    (tmp_path / "kmsg").touch()
    monkeypatch.setattr("builtins.open", lambda *args, **more: Silent())
    with pytest.raises(FileReadError, match="read to its end"):
        read_bytes(tmp_path / "kmsg")
