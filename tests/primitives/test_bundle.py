from __future__ import annotations

import os
from pathlib import Path

import pytest

from supercloud.errors import OperationError, OutputError
from supercloud.primitives.bundle import MANIFEST, Bundle, File
from supercloud.primitives.exchange import exchange_paths


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {MANIFEST}


def test_a_bundle_is_sorted_and_rejects_paths_outside() -> None:
    bundle = Bundle({"b": "2", "a/c": File("1", executable=True)})
    assert list(bundle) == ["a/c", "b"] and bundle["b"] == "2"
    for path in ("/etc/x", "../x", "a/../x", "", MANIFEST):
        with pytest.raises(ValueError, match="not a valid path"):
            Bundle({path: ""})


def test_files_are_written_with_their_modes(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    Bundle({"run.sh": File("x", executable=True), "key": File("k", secret=True), "d/conf": "c"}).write(out)
    assert [(out / name).stat().st_mode & 0o777 for name in ("run.sh", "key", "d/conf")] == [0o755, 0o600, 0o644]
    assert os.listdir(out.parent) == ["out"]


def test_a_rendered_folder_is_replaced_completely(tmp_path: Path) -> None:
    out = tmp_path / "out"
    Bundle({"old": "1", "both": "1"}).write(out)
    Bundle({"both": "2", "new/x": "2"}).write(out)
    assert names(out) == {"both", "new/x"}


@pytest.mark.parametrize("spoil", ["foreign", "edited", "manifest", "no-manifest"])
def test_a_folder_with_changes_is_not_replaced(tmp_path: Path, spoil: str) -> None:
    out = tmp_path / "out"
    Bundle({"a": "1"}).write(out)
    if spoil == "foreign":
        (out / "mine").write_text("precious")
    elif spoil == "edited":
        (out / "a").write_text("precious")
    elif spoil == "manifest":
        (out / MANIFEST).write_text("{")
    else:
        (out / MANIFEST).unlink()
    before = {path: path.read_bytes() for path in out.rglob("*")}
    with pytest.raises(OutputError, match="--force"):
        Bundle({"b": "2"}).write(out)
    assert {path: path.read_bytes() for path in out.rglob("*")} == before
    Bundle({"b": "2"}).write(out, force=True)
    assert names(out) == {"b"}


def test_only_the_rendered_parts_are_replaced(tmp_path: Path) -> None:
    out, spec = tmp_path / "out", tmp_path / "a.yaml"
    Bundle({"a/old": "1", "a/both": "1", "ab/x": File("1", executable=True), "b/deep/y": "1"}).write(out, source=spec)
    (out / "b" / "mine").write_text("precious")
    (out / "b" / "deep" / "y").write_text("edited")
    Bundle({"a/both": "2"}).write(out, source=spec, subfolders=["a"])
    assert names(out) == {"a/both", "ab/x", "b/deep/y", "b/mine"} and (out / "a/both").read_text() == "2"
    assert (out / "ab/x").stat().st_mode & 0o777 == 0o755
    with pytest.raises(OutputError, match="b/mine"):
        Bundle({"a/both": "3"}).write(out, source=spec)
    (out / "b" / "mine").unlink()
    with pytest.raises(OutputError, match=r"modified by hand \(b/deep/y\)"):
        Bundle({"a/both": "3"}).write(out, source=spec)
    (out / "a" / "both").write_text("edited")
    with pytest.raises(OutputError, match=r"modified by hand \(a/both\)"):
        Bundle({"a/both": "3"}).write(out, source=spec, subfolders=["a"])
    Bundle({"a/both": "3"}).write(out, force=True, source=spec, subfolders=["a"])
    assert names(out) == {"a/both", "ab/x", "b/deep/y"}
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_of_another_spec_is_not_replaced(tmp_path: Path) -> None:
    out, mine, other = tmp_path / "out", tmp_path / "mine.yaml", tmp_path / "other.yaml"
    Bundle({"a/x": "1", "b/x": "1"}).write(out, source=mine)
    for source, parts in ((other, ()), (other, ["a"]), (None, ())):
        with pytest.raises(OutputError, match=f"was rendered from {mine}; .*--force"):
            Bundle({"a/x": "2"}).write(out, source=source, subfolders=parts)
    assert names(out) == {"a/x", "b/x"} and (out / "a/x").read_text() == "1"
    tmp_path = tmp_path.rename(tmp_path.with_name(f"{tmp_path.name}-moved"))
    Bundle({"a/x": "2", "b/x": "2"}).write(tmp_path / "out", source=tmp_path / "mine.yaml")
    Bundle({"a/x": "3"}).write(tmp_path / "out", force=True, source=tmp_path / "other.yaml", subfolders=["a"])
    assert names(tmp_path / "out") == {"a/x"}, "files of two specs in one folder would be taken for one cluster"


def test_a_file_at_the_path_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    for force in (False, True):
        with pytest.raises(OutputError, match="not a directory"):
            Bundle({"b": "2"}).write(tmp_path / "out", force=force)


@pytest.mark.parametrize("step", ["write_text", "rename"])
def test_a_failure_during_writing_keeps_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    out = tmp_path / "out"
    Bundle({"a": "1", "b": "1"}).write(out)
    real = getattr(Path, step)
    calls = []

    def fail(self: Path, *args: object, **kwargs: object) -> object:
        calls.append(self)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr("supercloud.primitives.bundle.exchange_paths", lambda first, second: False)
        patch.setattr(Path, step, fail)
        with pytest.raises(OperationError, match="No space left"):
            Bundle({"c": "2", "d": "2"}).write(out)
    assert names(out) == {"a", "b"} and (out / "a").read_text() == "1"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("held", ["the working directory", "the spec", "the home directory", "a repository"])
def test_force_never_replaces_more_than_an_output_folder(
    held: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, spec = tmp_path / "work", tmp_path / "work" / "deep" / "cluster.yaml"
    spec.parent.mkdir(parents=True)
    spec.write_text("name: a")
    if held == "the working directory":
        monkeypatch.chdir(spec.parent)
    elif held == "the home directory":
        monkeypatch.setenv("HOME", str(spec.parent))
    elif held == "a repository":
        (place / ".git").mkdir()
    with pytest.raises(OutputError, match=f"contains {held}.*never replaced"):
        Bundle({"a": "1"}).write(place, force=True, source=spec if held == "the spec" else None)
    assert spec.read_text() == "name: a"


def test_two_folders_are_exchanged_in_one_step(tmp_path: Path) -> None:
    """A program that is killed between two renames would leave no output folder."""
    for name in ("first", "second"):
        Bundle({name: name}).write(tmp_path / name)
    assert exchange_paths(tmp_path / "first", tmp_path / "second")
    assert names(tmp_path / "first") == {"second"} and names(tmp_path / "second") == {"first"}
    assert not exchange_paths(tmp_path / "first", tmp_path / "missing")


def test_an_interrupted_write_keeps_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On file systems that cannot exchange folders."""
    out = tmp_path / "out"
    Bundle({"old": "1"}).write(out)
    rename = Path.rename

    def interrupt(self: Path, target: Path) -> Path:
        if target == out and not self.name.endswith(".old"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr("supercloud.primitives.bundle.exchange_paths", lambda first, second: False)
    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Bundle({"new": "2"}).write(out)
    assert names(out) == {"old"} and os.listdir(tmp_path) == ["out"]
