"""What a user of another system writes gets the words of this one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from supercloud.errors import SpecError
from supercloud.spec import (
    ClusterSpec,
    JobSpec,
    cluster,
    fabric,
    facility,
    fleet,
    job,
    pool,
    scheduler,
    site,
    storage,
    tenant,
)
from supercloud.spec.base import Name
from supercloud.spec.document import parse_yaml
from supercloud.spec.fleet import Connection
from supercloud.spec.hints import (
    _load_hints,
    find_field_hint,
    find_mapping_hint,
    suggest_connection,
    suggest_name,
    suggest_times,
)
from supercloud.spec.loader import load_fleet, load_job, loads

MODELS = {
    model.__name__: model
    for model in (
        storage.Storage,
        fabric.Fabric,
        fabric.Service,
        facility.Facility,
        facility.Cooling,
        tenant.Tenant,
        scheduler.Partition,
        scheduler.SlurmScheduler,
        site.OnPremSite,
        JobSpec,
        job.Accelerators,
        job.PlacementSpec,
        ClusterSpec,
        cluster.Network,
        pool.Pool,
        fleet.FleetSpec,
        fleet.FleetMember,
        Connection,
    )
}


def test_each_hint_is_for_a_missing_field_and_names_existing_fields() -> None:
    for name, hints in _load_hints()["fields"].items():
        known = MODELS[name].model_fields
        for other, text in hints.items():
            assert other not in known, f"{name} has a field {other}: nobody would see the hint"
            named = re.search(r"^write \{?(\w+):|^write it inside (\w+):", text)
            assert named is None or (named[1] or named[2]) in known, text
    assert set(_load_hints()["shapes"]) <= set(MODELS)


SAMPLES = [
    8,
    "8",
    0,
    -1,
    10**9,
    1.5,
    True,
    None,
    "a100",
    "A_100",
    "a100:8",
    "gpu:8",
    "30:00",
    "24:00:00",
    "1-12",
    "yes",
    "/x",
    "80Gi",
    "8 nodes",
    "a b",
    "on",
    "null",
    "",
    [8],
    ["a"],
    {"a": 8},
    "x" * 60,
]


def is_accepted(model: type[BaseModel], hint: str) -> bool:
    """Whether one of the beginnings of a hint is a mapping whose fields the model takes."""
    advised = re.sub(r"\bNAME\b", "a", re.sub(r"\bN\b", "1", hint.removeprefix("write ")))
    for end in [len(advised), *(found.start() for found in re.finditer(r"[,;] | (?:for|or|and) | \(", advised))]:
        try:
            fields = parse_yaml(advised[:end]).data
        except SpecError:
            continue
        if isinstance(fields, dict) and set(fields) <= set(model.model_fields):
            kinds = {name: model.model_fields[name] for name in fields}
            try:
                for name, info in kinds.items():
                    TypeAdapter(Annotated[(info.annotation, *info.metadata, None)]).validate_python(fields[name])
            except ValidationError:
                continue
            return True
    return False


@pytest.mark.slow
def test_suggested_fields_accept_the_value() -> None:
    refused = []
    for name, hints in _load_hints()["fields"].items():
        for text, other in {text: other for other, text in hints.items()}.items():  # names with one hint are one case
            for value in SAMPLES if "%" in text else ():
                hint = find_field_hint(other, value, [MODELS[name]])
                if hint and "…" not in hint and not is_accepted(MODELS[name], hint):
                    refused.append((name, other, value, hint))
    for name in _load_hints()["shapes"]:
        for value in SAMPLES:
            hint = find_mapping_hint(value, [MODELS[name]])
            if hint and "…" not in hint and not is_accepted(MODELS[name], hint):
                refused.append((name, "", value, hint))
    assert refused == []


@pytest.mark.parametrize(
    "line, hint",
    [
        ("name: Train_1", "write train-1"),
        ("name: 8 GPUs", "write n8-gpus"),
        ("name: Über", "write uber"),
        ("gpus: 8", "write accelerators: {count: 8}"),
        ("gres: 'gpu:8'", "write accelerators:"),
        ("cpus-per-task: 4", "leave it out"),
        ("ntasks: 16", "write tasks_per_node"),
        ("partition: batch", "write place:"),
        ("time: 24:00:00", "write time_limit"),
        ("time_limit: 24:00:00", "write 24 h"),
        ("time_limit: 1-12:30", "2190 min"),
        ("time_limit: 30:00", "write 30 min"),
        ("time_limit: 90", "write 90 min (90 minutes, as in Slurm), or 90 s (seconds)"),
        ("time_limit: 00:30", "write 30 s"),
        ("time_limit: 2-12", "write 60 h"),
        ("time_limit: 1-00:00:30", "write 86430 s"),
        ("time_limit: 1:30:00", "90 min"),
        ("time_limit: '120'", "write 2 h (120 minutes, as in Slurm), or 2 min (seconds)"),
        ("accelerator: a100", "write accelerators: {type: a100, count: N}"),
        ("gpus: a100:8", "write accelerators: {type: a100, count: 8}"),
        ("requeue: true", "write retries: N"),
        ("num_nodes: '2'", "write nodes: 2"),
        ("gpus: [8]", "write accelerators: {count: N}"),
        ("account: 7", "write tenant: NAME"),
        ("time_limit: 30 minutes", "write 30 min"),
        ("account: llm", "write tenant: llm"),
        ("num_nodes: 2", "nodes: 2"),
        ("array: 0-15", "write 16"),
        ("nodes: '2'", "write 2"),
        ("restartPolicy: Never", "write retries"),
        ("replicas: 4", "write nodes"),
        ("resources: {cpus: 4}", "write accelerators"),
        ("envs: {A: b}", "write env"),
        ("backoffLimit: 3", "write retries: 3"),
        ("accelerators: H100:8", "write {type: H100, count: 8}"),
        ("accelerators: 8", "write {count: 8}"),
        ("accelerators: {H100: 8}", "write {type: H100, count: 8}"),
        ("accelerators: h100", "write {type: h100, count: N}"),
        ("runtime_env: {}", "write env"),
        ("accelerators: {count: 8, memory: 80Gi}", "write 80 GiB"),
        ("preemptible: no", "write false"),
        ("env: [A=b]", "write {A: b}"),
        ("licenses: matlab:2", "write {matlab: 2}"),
        ("checkpoint: /ckpt", "{path: /ckpt}"),
        ("env: [{name: A, value: b}]", "write {A: b}"),
        ("nodes: 2 nodes", "write 2"),
        ("retries: 3 times", "write 3"),
        ("place: {pool: train}", "write pools: [train]"),
        ("workdir: ~/run", "write a path such as /"),
        ("timelimit: 1 h", "write time_limit: 1 h"),
        ("timelimit: 90 min", "write time_limit: 90 min"),
        ("walltime: '01:30:00'", "write time_limit: 90 min"),
        ("time: 60", "write time_limit: 1 h (60 minutes, as in Slurm), or 1 min (seconds)"),
        ("timelimit: UNLIMITED", "write time_limit: N h"),
        ("active_deadline_seconds: 3600", "write time_limit: 3600 s"),
        ("accelerators: {type: h100, cout: 16}", "did you mean count?"),
        ("accelerators: {counts: 16}", "did you mean count?"),
        ("accelerators: {count: 16, memroy: 80}", "did you mean memory?"),
        ("accelerators: {count: 16, a100: 8}", "known: count, "),
        ("nodes: 10-20", "write one number, 10 or 20"),
        ("nodes: 2k", "write 2000"),
        ("nodes: 2.5k", "write 2500"),
        ("nodes: '1,024'", "write 1024"),
        ("nodes: 8 hosts", "write 8"),
        ("nodes: 16 racks", "racks is not what this field counts"),
        ("num_nodes: 16 racks", "write nodes: N"),
        ("accelerators: {count: 8 gpus}", "write 8"),
        ("accelerators: {count: 8 nodes}", "nodes is not what this field counts"),
    ],
)
def test_mistakes_in_a_job_are_reported_with_the_correction(tmp_path: Path, line: str, hint: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(("" if line.startswith("name") else "name: a\n") + f"script: 'true'\n{line}\n")
    with pytest.raises(SpecError) as caught:
        load_job(file)
    [finding] = caught.value.findings
    assert hint in finding.hint and finding.line


@pytest.mark.parametrize(
    "text, message",
    [
        ("#!/bin/bash\n#SBATCH --gres=gpu:8\nsrun python train.py\n", "a shell script becomes a job"),
        ("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n", "is a Kubernetes object, not a job"),
    ],
)
def test_files_of_other_systems_are_recognized(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "job.yaml").write_text(text)
    with pytest.raises(SpecError, match=message):
        load_job(tmp_path / "job.yaml")


def test_both_times_that_a_number_may_mean_are_accepted() -> None:
    for number in (1, "90", 3600):
        times = re.findall(r"(\d+ (?:h|min|s))\b(?! *econds)", suggest_times(number))
        assert len(times) == 2
        for time_limit in times:
            assert JobSpec(name="a", script="true", time_limit=time_limit)
    assert suggest_times(0) == suggest_times("2 h") == suggest_times(True) == suggest_times(1.5) == ""


@pytest.mark.parametrize(
    "model, name, value, hint",
    [
        (cluster.Network, "closed", True, "write isolated: true"),
        (fabric.Fabric, "exits", 8, "write external_links: 8"),
        (fabric.Fabric, "joins", {"fabric": "in-band", "links": 2}, "write upstream: {fabric: NAME, links: 2}"),
        (fabric.Service, "full", True, "write non_blocking: true if "),
        (fabric.Service, "ours", False, "write vendor_managed: true if "),
        (facility.Facility, "floor", "400 kg", "write floor_load: "),
        (facility.Facility, "reach", "40 m", "write max_cable_length: "),
        (facility.Cooling, "step", "10 K", "write temperature_rise: 10 K"),
    ],
)
def test_earlier_names_of_fields_get_a_hint(model: type[BaseModel], name: str, value: object, hint: str) -> None:
    assert find_field_hint(name, value, [model]).startswith(hint)


def test_mistakes_in_clusters_and_fleets_are_reported_with_the_correction(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        loads(
            "name: My Cluster\nsite: onprem\nscheduler: slurm\nnodes: 5\n"
            "pools: [{name: a, machine: dgx-h100, nodes: 2, accelerators: 8}]\n"
        )
    hints = {item.path: item.hint for item in caught.value.findings}
    assert hints["name"] == "write my-cluster"
    assert hints["site"].startswith("write {kind: onprem") and hints["scheduler"].startswith("write {kind: slurm")
    assert "write pools:" in hints["nodes"] and "machine" in hints["pools[0].accelerators"]
    (tmp_path / "fleet.yaml").write_text("name: f\nclusters: [{spec: a.yaml, connect: {engine: slurm, host: login}}]\n")
    with pytest.raises(SpecError, match="write via: ssh:login for a login node"):
        load_fleet(tmp_path / "fleet.yaml")


@pytest.mark.parametrize("via", ["stack:company/pod1/dev", "context:admin@south"])
def test_a_stack_or_context_is_not_an_address(via: str, tmp_path: Path) -> None:
    field, _, name = via.partition(":")
    (tmp_path / "fleet.yaml").write_text(f"name: f\nclusters: [{{spec: a.yaml, connect: {{via: '{via}'}}}}]\n")
    with pytest.raises(SpecError) as caught:
        load_fleet(tmp_path / "fleet.yaml")
    hints = [finding.hint for finding in caught.value.findings if finding.path.startswith("clusters[0].connect")]
    advised = parse_yaml(suggest_connection(via)).data
    assert isinstance(advised, dict) and any(suggest_connection(via) in hint for hint in hints), hints
    assert getattr(Connection.model_validate(advised["connect"]), field) == name


@pytest.mark.parametrize("text", ["login.example.com", "ann@login", "ssh://ann@login:2222", "login:6820", "tcp://a:1"])
def test_suggested_values_are_accepted(text: str) -> None:
    for word in re.findall(r"(?:ssh:|https:)\S+", suggest_connection(text)):
        assert Connection(engine="slurm", via=word.replace(":PORT", ":6820"))
    for name in (text, "Train_1", "--a--", "9 lives", "x" * 60, "a\u00df\u4e2d"):
        if suggested := suggest_name(name):
            assert TypeAdapter(Name).validate_python(suggested)


CLUSTER = """name: a
site: {kind: onprem, location: stockholm}
scheduler: %s
pools: %s
"""
SLURM, KUBERNETES = "{kind: slurm, version: '25.11'}", "{kind: kubernetes, version: '1.33', gitops: %s}"
POOLS = "[{name: t, machine: dgx-h100, nodes: 2}]"


def list_problems(scheduler: str = SLURM, pools: str = POOLS, more: str = "") -> dict[str, tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        loads(CLUSTER % (scheduler, pools) + more)
    assert len({item.path for item in caught.value.findings}) == len(caught.value.findings)
    return {item.path: (item.problem, item.hint) for item in caught.value.findings}


@pytest.mark.parametrize(
    "scheduler, path, hint",
    [
        ("{kind: slurm, version: v25.11}", "scheduler.version", "write 25.11"),
        ("{kind: slurm, version: \u201c25.11\u201d}", "scheduler.version", "write 25.11"),
        ("{kind: slurm, version: latest}", "scheduler.version", "write a value such as 25.11"),
        (
            KUBERNETES % "{kind: flux, url: 'git@a.com:b/x.git'}",
            "scheduler.gitops.url",
            "write ssh://git@a.com/b/x.git",
        ),
        (KUBERNETES % "{kind: flux, url: 'http://a.com/x.git'}", "scheduler.gitops.url", "write https://a.com/x.git"),
        (KUBERNETES % "{kind: argo, url: 'https://a.com/x'}", "scheduler.gitops.kind", "did you mean argocd?"),
        (KUBERNETES % "argo", "scheduler.gitops", "did you mean argocd?"),
        (KUBERNETES % "[flux]", "scheduler.gitops", "valid fields: branch, kind, path, url"),
    ],
)
def test_a_wrong_value_is_one_problem_without_a_regular_expression(scheduler: str, path: str, hint: str) -> None:
    """A field that may have a word or a mapping is reported in the form that was written."""
    found = list_problems(scheduler)
    assert list(found) == [path] and found[path][1] == hint and "[A-Za-z" not in found[path][0]
    if hint.startswith("write "):
        written = re.findall(r"(?:url: '|version: )([^'}]+)", scheduler)[-1]
        better = re.sub(r"write (a value such as )?", "", hint)
        loads(CLUSTER % (scheduler.replace(written, better), POOLS))


@pytest.mark.parametrize(
    "more, hint",
    [
        ("tenants: [{name: x, users: [Ada Lovelace]}]", "write ada-lovelace"),
        ("users: [{name: Ada Lovelace, uid: 2001}]", "write ada-lovelace"),
        ("network: {domain: a_b}", "write a value such as pod1.example.com"),
        ("facility: {power: {budget: 200KW}}", "write 200 kW"),
        ("facility: {power: {budget: '1,200 kW'}}", "write 1200 kW"),
        ("facility: {power: {budget: 200\u00a0kW}}", "write 200 kW"),
        ("facility: {power: {budget: 200 horses}}", ""),
        ("fabrics: [{name: c, kind: infiniband, speed: 400G}]", "write 400 Gb/s"),
        ("fabrics: [{name: c, kind: infiniband, speed: 400 GBIT/S}]", ""),
        ("storage: [{name: h, kind: nfs, capacity: 100T, mount: /h}]", "write 100 TiB"),
        ("storage:", "write a list of mappings: [{name: …, kind: …}]"),
        ("tags: {a: true}", "put it in quotes"),
    ],
)
def test_a_value_in_another_notation_gets_the_one_of_the_spec(more: str, hint: str) -> None:
    [(problem, found)] = list_problems(more=more).values()
    assert found == hint and not re.search(r"True|None|\^|\[A-Za-z|',", problem)


def test_an_empty_list_of_pools_is_reported_in_words() -> None:
    assert list_problems(pools="") == {
        "pools": ("is empty, and a list is required", "write a list of mappings: [{name: …, machine: …, nodes: …}]")
    }


def test_a_comma_in_a_number_is_reported_as_such() -> None:
    found = list_problems(pools="[{name: t, machine: dgx-h100, nodes: 1,024}]")
    assert "a comma separates fields" in found["pools[0].024"][1]


@pytest.mark.parametrize("wrong, hint", [("node: 4", "did you mean nodes?"), ("count: 4", "write nodes: 4")])
def test_a_required_field_under_another_name_is_one_problem(wrong: str, hint: str) -> None:
    found = list_problems(pools=f"[{{name: t, machine: dgx-h100, {wrong}}}]")
    assert {path: text for path, (_, text) in found.items()} == {f"pools[0].{wrong.split(':', maxsplit=1)[0]}": hint}


def test_a_required_field_that_is_missing_beside_an_unknown_one_is_a_problem() -> None:
    found = list_problems(pools="[{name: t, machine: dgx-h100, color: red}]")
    assert set(found) == {"pools[0].color", "pools[0].nodes"}


@pytest.mark.parametrize("digits", [2, 100, 100_000])
def test_a_hint_has_no_long_text_of_the_value(digits: int) -> None:
    [(_, hint)] = list_problems(pools=f"[{{name: t, machine: dgx-h100, nodes: 0x{'f' * digits}}}]").values()
    assert len(hint) < 100


def test_a_hint_does_not_repeat_the_choices_of_the_problem() -> None:
    [(problem, hint)] = list_problems(more="facility: {cooling: {kind: water}}").values()
    assert "is not one of air" in problem and "air" not in hint


def test_a_password_in_an_address_is_not_shown() -> None:
    found = list_problems(KUBERNETES % "{kind: flux, url: 'https://u:secret@a.com/x'}")
    assert "secret" not in str(found)
