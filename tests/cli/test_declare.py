"""The verbs that read a spec: what they print, where, and with which exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from samples import EXAMPLES, ROOT

from supercloud.cli import COMMANDS

pytestmark = pytest.mark.slow

Cli = Callable[..., tuple[int, str, str]]
SUPERPOD = ROOT / "examples/02-superpod/cluster.yaml"


def spoil(tmp_path: Path, **changes: object) -> Path:
    spec = yaml.safe_load(SUPERPOD.read_text()) | changes
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump(spec))
    return file


def test_plan_prints_results_on_stdout_and_the_next_step_on_stderr(cli: Cli) -> None:
    code, out, err = cli("plan", SUPERPOD)
    assert code == 0
    assert "127 × dgx-h100, 1016 × h100-sxm" in out and "32 leaf + 16 spine" in out
    assert "next: supercloud render" in err and "next" not in out


def test_the_next_step_for_a_cloud_is_to_create_it(cli: Cli) -> None:
    code, _, err = cli("plan", ROOT / "examples/09-aws-slurm/cluster.yaml")
    assert code == 0 and "pulumi config set supercloud:specFile" in err and "pulumi up" in err


def test_plan_prints_json(cli: Cli) -> None:
    code, out, err = cli("plan", SUPERPOD, "--json")
    plan = json.loads(out)
    assert code == 0 and plan["version"] == 1 and err == ""
    assert plan["fabrics"][0]["cables"] == {
        "node_leaf": 1016,
        "leaf_spine": 1024,
        "spine_core": 0,
        "manager": 4,
        "node_node": 0,
    }


@pytest.mark.parametrize("verb", ["plan", "check", "render"])
def test_an_invalid_spec_is_exit_code_2_with_all_findings(cli: Cli, tmp_path: Path, verb: str) -> None:
    file = spoil(tmp_path, nmae="x", site={"kind": "onprm", "location": "x"})
    code, out, err = cli(verb, file)
    assert code == 2 and out == ""
    assert "did you mean name?" in err and "did you mean onprem?" in err and f"{file}:" in err


@pytest.mark.parametrize("verb", ["plan", "check"])
def test_errors_are_printed_and_prevent_rendering(cli: Cli, tmp_path: Path, verb: str) -> None:
    file = spoil(tmp_path, pools=[{"name": "train", "machine": "dgx-h10", "nodes": 3}])
    code, out, _ = cli(verb, file)
    assert code == 2 and "unknown machine 'dgx-h10'" in out and "did you mean dgx-h100" in out
    line = next(number for number, text in enumerate(file.read_text().splitlines(), 1) if "dgx-h10" in text)
    assert f"{file}:{line}: pools[0].machine" in out
    code, out, _ = cli(verb, file, "--json")
    found = json.loads(out)
    found = found["findings"] if verb == "plan" else found
    assert code == 2 and found[0]["path"] == "pools[0].machine" and found[0]["line"] == line


def test_render_rejects_errors_and_keeps_the_folder(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli("render", SUPERPOD, "--out", out)[0] == 0
    before = sorted(out.rglob("*"))
    file = spoil(tmp_path, facility={"power": {"budget": "1 kW"}})
    code, _, err = cli("render", file, "--out", out)
    assert code == 2 and "power-budget" in err and sorted(out.rglob("*")) == before
    (out / "mine").write_text("x")
    code, _, err = cli("render", SUPERPOD, "--out", out)
    assert code == 2 and "mine" in err and (out / "mine").exists()


def test_the_output_folder_has_a_short_option(cli: Cli, tmp_path: Path) -> None:
    assert cli("render", SUPERPOD, "--target", "slurm", "-o", tmp_path / "out")[0] == 0
    assert (tmp_path / "out/slurm/slurm.conf").is_file()


def test_render_prints_what_it_wrote(cli: Cli, tmp_path: Path) -> None:
    code, out, err = cli("render", SUPERPOD, "--target", "slurm", "--out", tmp_path / "out")
    files = out.splitlines()
    assert code == 0 and all(Path(file).is_file() for file in files)
    assert str(tmp_path / "out/slurm/slurm.conf") in files and "INSTALL.md" in err
    code, out, _ = cli("render", SUPERPOD, "--out", tmp_path / "out", "--json")
    assert "slurm/slurm.conf" in json.loads(out)["files"]


@pytest.mark.parametrize("name", ["02-superpod", "06-roce-small", "07-storage", "08-kubernetes"])
def test_render_refers_to_the_page_with_the_order_of_folders(cli: Cli, tmp_path: Path, name: str) -> None:
    """The first page was that of Slurm, which needs all the others."""
    out, spec = tmp_path / "out", SUPERPOD.parents[1] / name / "cluster.yaml"
    _, _, err = cli("render", spec, "--out", out)
    assert err.rstrip().endswith(f"next: read {out}/INSTALL.md")
    page = (out / "INSTALL.md").read_text()
    folders = {path.name for path in out.iterdir() if path.is_dir()} - {"diagram"}
    named = set(re.findall(r"`(\w+)/", page))
    assert named == folders
    assert all((out / path).is_file() for path in re.findall(r"`([\w-]+/[\w/-]+\.\w+)`", page))
    ordered = ("cabling", "hosts", "infiniband", "storage", "slurm", "kubernetes")
    order = [page.index(f"`{folder}/") for folder in ordered if folder in folders]
    assert order == sorted(order)
    assert ("/dev/nvidia0 to /dev/nvidia7" in page) == ("slurm" in folders)
    assert ("compute-manager-01" in page) == ("infiniband" in folders)
    _, _, err = cli("render", spec, "--target", "hosts", "--out", out)
    assert err.rstrip().endswith(f"{out}/hosts/INSTALL.md") and (out / "INSTALL.md").read_text() == page


def test_a_target_replaces_its_own_subfolder_only(cli: Cli, tmp_path: Path) -> None:
    out, spec = tmp_path / "out", tmp_path / "spec.yaml"
    spec.write_text(SUPERPOD.read_text())
    assert cli("render", spec, "--target", "slurm", "--target", "bom", "--out", out)[0] == 0
    before = {path: path.read_bytes() for path in (out / "bom").iterdir()}
    stale = out / "slurm" / "gres.conf"
    assert stale.exists() and before
    spec.write_text(SUPERPOD.read_text().replace("llm", "speech"))
    assert cli("render", spec, "--target", "slurm", "--out", out)[0] == 0
    assert "speech" in (out / "slurm" / "accounts.sh").read_text()
    assert {path: path.read_bytes() for path in (out / "bom").iterdir()} == before


def test_another_spec_does_not_replace_a_folder(cli: Cli, tmp_path: Path) -> None:
    out, spec = tmp_path / "out", tmp_path / "spec.yaml"
    spec.write_text(SUPERPOD.read_text())
    assert cli("render", SUPERPOD, "--target", "slurm", "--out", out)[0] == 0
    for more in ((), ("--target", "slurm")):
        code, _, err = cli("render", spec, "--out", out, *more)
        assert code == 2 and f"rendered from {SUPERPOD}" in err and "--force" in err
    assert cli("render", spec, "--target", "slurm", "--out", out, "--force")[0] == 0


def test_an_unknown_target_is_rejected(cli: Cli) -> None:
    code, _, err = cli("render", SUPERPOD, "--target", "slrum")
    assert code == 2 and "slurm" in err


def test_catalog_checks_an_entry_of_an_overlay(cli: Cli, tmp_path: Path) -> None:
    """It read the package's entry only, so that a misspelt field was not found."""
    folder = tmp_path / "overlay" / "machines"
    folder.mkdir(parents=True)
    options = ("--overlay", str(folder.parent))
    (folder / "dgx-h100.yaml").write_text("name: dgx-h100\npowr: 9 kW\n")
    code, _, err = cli("catalog", "machines", "dgx-h100", *options)
    assert code == 2 and "powr" in err and "dgx-h100.yaml" in err
    (folder / "dgx-h100.yaml").write_text("name: dgx-h100\npower: 9 kW\n")
    assert "power: 9 kW" in cli("catalog", "machines", "dgx-h100", *options)[1]
    assert "power: 9 kW" not in cli("catalog", "machines", "dgx-h100")[1]


def test_catalog_lists_and_shows_entries(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "machines" in cli("catalog")[1]
    assert "dgx-h100" in cli("catalog", "machines")[1]
    code, out, _ = cli("catalog", "machines", "dgx-h100", "--json")
    assert json.loads(out)["accelerators"]["count"] == 8 and json.loads(out)["source"]
    code, _, err = cli("catalog", "machines", "dgx-h10")
    assert code == 2 and "did you mean dgx-h100" in err
    assert cli("catalog", "machnies")[0] == 2
    lines = cli("catalog", "machines", "p5*")[1].splitlines()
    assert lines and all(line.startswith("p5") for line in lines) and any("8 × h200-sxm" in line for line in lines)
    code, _, err = cli("catalog", "machines", "q9*")
    assert code == 2 and "'q9*'" in err
    overlay = tmp_path / "overlay" / "switches"
    overlay.mkdir(parents=True)
    (overlay / "mine.yaml").write_text("name: mine\ntitle: Mine\nsource: [me]\nvendor: me\nkind: ethernet\n")
    monkeypatch.setenv("SUPERCLOUD_CATALOG", str(overlay.parent))
    assert "mine" in cli("catalog", "switches")[1]
    monkeypatch.setenv("SUPERCLOUD_CATALOG", str(tmp_path / "nowhere"))
    assert cli("catalog", "switches")[0] == 2


def test_schema_prints_each_document(cli: Cli) -> None:
    for document in ("cluster", "job", "fleet", "plan"):
        assert json.loads(cli("schema", document)[1])["$schema"]
    assert cli("schema", "clutser")[0] == 2


def test_explain_prints_a_field_and_its_children(cli: Cli) -> None:
    code, out, err = cli("explain", "facility.power")
    assert code == 0 and "budget <power>" in out and "redundancy <one of N, N+1, 2N, 3N/2>" in out
    assert "unit: W, kW, MW, GW" in out and "default: N\n" in out
    assert not err, "nothing is below its fields"
    code, out, err = cli("explain", "job.place", "--recursive")
    assert code == 0 and "max_price <price per time>" in out.splitlines()
    code, _, err = cli("explain", "pool.nodes")
    assert code == 2 and "did you mean pools" in err


@pytest.mark.parametrize("name", ["x.json", "x.YAML", "x.toml"])
def test_init_writes_only_yaml(cli: Cli, tmp_path: Path, name: str) -> None:
    code, out, err = cli("init", tmp_path / name)
    assert code == 2 and not out and "written as YAML" in err and not (tmp_path / name).exists()


def test_init_writes_a_spec_without_errors(cli: Cli, tmp_path: Path) -> None:
    for machine in ("dgx-h100", "dgx-gb200", "dgx-a100", "cpu-6740e", "gaudi3-8"):
        file = tmp_path / f"{machine}.yaml"
        assert cli("init", file, "--machine", machine)[0] == 0
        code, out, _ = cli("plan", file)
        assert code == 0, out
    assert cli("init", file)[0] == 2, "an existing file is not overwritten"
    assert cli("init", tmp_path / "x.yaml", "--machine", "dgx-h10")[0] == 2
    assert cli("init", tmp_path / "x.yaml", "--name", "Bad Name")[0] == 2 and not (tmp_path / "x.yaml").exists()


FIRST_SPECS = {
    "dgx-b300": ("infiniband", "stockholm"),
    "dgx-gb300": ("direct-liquid", "stockholm"),
    "mi300x-8gpu": ("", "stockholm"),
    "p5.48xlarge": ("efa", "us-east-1"),
    "p6-b200.48xlarge": ("efa", "us-"),
    "trn1.32xlarge": ("efa", "us-"),
    "g6e.48xlarge": ("efa", "us-"),
    "inf2.48xlarge": ("", "us-"),
    "m7g.16xlarge": ("", ""),
}


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
@pytest.mark.parametrize("machine", FIRST_SPECS)
def test_a_first_spec_has_the_provider_of_the_machine(cli: Cli, tmp_path: Path, machine: str, scheduler: str) -> None:
    file = tmp_path / "cluster.yaml"
    assert cli("init", file, "--machine", machine, "--scheduler", scheduler)[0] == 0
    code, out, _ = cli("plan", file)
    assert code == 0 and "error" not in out, out
    words, place = FIRST_SPECS[machine]
    assert re.search(words, file.read_text()) and re.search(rf"(location|region): {place}", file.read_text())


def test_a_first_spec_of_a_machine_without_on_demand_capacity(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    code, _, err = cli("init", file, "--machine", "p6e-gb200.36xlarge", "--nodes", "36")
    assert code == 2 and "no known region offers" in err and "--region" in err
    assert cli("init", file, "--machine", "p6e-gb200.36xlarge", "--nodes", "36", "--region", "us-east-1")[0] == 0
    code, out, _ = cli("plan", file)
    assert code == 0 and "error" not in out, out
    assert "kind: reservation, id: cr-0123456789abcdef0" in file.read_text()
    for words in (("p5.48xlarge", "--location", "stockholm"), ("dgx-h100", "--region", "us-east-1")):
        code, _, err = cli("init", tmp_path / "other.yaml", "--machine", *words)
        assert code == 2 and f"{words[0]} is a" in err and "; use --" in err


def test_version_is_printed_and_bad_usage_is_exit_code_2(cli: Cli) -> None:
    assert cli("--version")[1].startswith("supercloud ")
    assert cli("plan")[0] == 2 and cli("plna", SUPERPOD)[0] == 2


def test_every_command_has_a_file_of_its_name() -> None:
    folder = ROOT / "supercloud/cli"
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {
        "--init--",
        "commands",
        "difference",
        "first-spec",
        "output",
        "options",
    }
    assert files == set(COMMANDS)


def test_every_example_plans_without_errors(cli: Cli) -> None:
    for example in EXAMPLES:
        code, out, _ = cli("plan", example)
        assert code == 0, out
