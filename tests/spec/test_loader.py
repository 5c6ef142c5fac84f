from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.errors import SpecError
from supercloud.jobs.fleet.state import load_fleet_state
from supercloud.spec.document import parse_yaml
from supercloud.spec.loader import load, load_fleet, load_job, loads
from supercloud.spec.problems import _resolve_path

GOOD = """\
name: pod1
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: 24.10}
pools:
  - {name: train, machine: dgx-h100, nodes: 4}
"""


def problems(text: str) -> list[tuple[int, str, str, str]]:
    with pytest.raises(SpecError) as caught:
        loads(text, "cluster.yaml")
    return [(item.line, item.path, item.problem, item.hint) for item in caught.value.findings]


def test_several_default_partitions_have_the_path_of_the_second() -> None:
    """The path had the member of the union: scheduler.slurm."""
    text = """\
name: pod1
site: {kind: onprem, location: stockholm}
scheduler:
  kind: slurm
  version: "25.11"
  partitions:
    - {name: a, pools: [train], default: true}
    - {name: b, pools: [train]}
    - {name: c, pools: [train], default: true}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
"""
    assert problems(text) == [
        (
            9,
            "scheduler.partitions[2].default",
            "c is the default partition in addition to a, at line 7",
            "keep default: true in one partition",
        )
    ]


def test_a_duplicate_level_has_its_path() -> None:
    text = """\
name: pod1
site: {kind: onprem, location: stockholm}
scheduler: {kind: kubernetes, version: "1.36", levels: [su, fabric, su]}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
"""
    assert problems(text) == [(3, "scheduler.levels[2]", "duplicate level 'su', at line 3", "remove it")]


def test_a_path_has_no_member_of_a_union() -> None:
    """The location of an error that a validator of a whole model raises ends with the member of the union."""
    data = {"scheduler": {"kind": "slurm"}}
    assert _resolve_path(("scheduler", "slurm"), data, False) == ("scheduler",)
    assert _resolve_path(("scheduler", "slurm", "version"), data, True) == ("scheduler", "version")


def test_everything_wrong_is_said_at_once_with_its_place() -> None:
    found = problems(
        """\
nam: pod1
site: {kind: onprm, location: stockholm}
scheduler: {kind: slurm, version: "22.05", controlers: []}
pools:
  - name: train
    machine: dgx-h100
    nodes: "127"
    spares: -1
    capacity: [{kind: spott}]
storage:
  - {name: scratch, kind: lustre, capacity: 2 PBB, throughput: {read: 3}}
facility: {cooling: {kind: direct-liquid, suply: 32 °C}}
tenants: [{name: llm, share: 1.5}, {name: LLM}]
"""
    )
    by_path = {path: (line, problem, hint) for line, path, problem, hint in found}
    assert by_path["nam"][0] == 1 and by_path["nam"][2] == "did you mean name?"
    assert by_path["name"] == (1, "'name' is missing", "add it")
    assert by_path["site"][0] == 2 and by_path["site"][2] == "did you mean onprem?"
    assert by_path["scheduler.controlers"][2] == "did you mean controllers?"
    assert by_path["pools[0].nodes"] == (7, "'127' is not a whole number", "write 127")
    assert by_path["pools[0].spares"][0] == 8
    assert by_path["pools[0].capacity[0]"][2] == "did you mean spot?"
    assert by_path["storage[0].capacity"][0] == 11 and "PiB" in by_path["storage[0].capacity"][1]
    assert "no unit" in by_path["storage[0].throughput.read"][1]
    assert by_path["facility.cooling.suply"][2] == "did you mean supply?"
    assert by_path["tenants[0].share"][1] == "1.5 is not a whole number"
    assert by_path["tenants[1].name"][0] == 13
    assert [line for line, *_ in found] == sorted(line for line, *_ in found)


def test_a_release_is_its_text_and_not_a_number() -> None:
    assert loads(GOOD).model.scheduler.version == "24.10"


@pytest.mark.parametrize(
    "text, value",
    [
        ("yes", "yes"),
        ("1:30", "1:30"),
        ("0777", "0777"),
        ("1e3", 1000.0),
        ("true", True),
        ("~", None),
        ("'5'", "5"),
        ("-3", -3),
        ("2026-01-01", "2026-01-01"),
        ("0x10", "0x10"),
        (".5", 0.5),
        ("0", 0),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    data = parse_yaml(f"a: {text}").data
    assert data == {"a": value} and type(data["a"]).__mro__[-2] in (type(value), int, float, str, bool) or value is None


def test_anchors_and_merges() -> None:
    data = parse_yaml("base: &b {x: 1, y: 2}\na: {<<: *b, y: 3}\nb: *b").data
    assert data["a"] == {"x": 1, "y": 3} and data["b"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    "text, said",
    [
        ("a: [1,", "flow"),
        ("a: 1\na: 2", "duplicate key 'a'"),
        ("a: !!python/object:os.system x", "tag"),
        ("? [a]\n: 1", "a key must be a string"),
        ("a: {<<: 3}", "merges mappings only"),
        ("\t- x", "starts with a tab"),
    ],
)
def test_bad_yaml_has_a_line(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        parse_yaml(text, "x.yaml").require_unique_keys()
    assert all(item.line >= 1 and item.file == "x.yaml" for item in caught.value.findings)


@pytest.mark.slow
def test_a_bomb_does_not_go_off() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
    with pytest.raises(SpecError, match="aliases repeat"):
        parse_yaml(bomb)
    with pytest.raises(SpecError):
        parse_yaml("[" * 3000)


def test_json_has_lines_too(tmp_path: Path) -> None:
    data = parse_yaml(GOOD).data
    data["scheduler"]["version"] = "24.05"
    data["pools"][0]["nods"] = 3
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(data, indent="\t"))
    with pytest.raises(SpecError) as caught:
        load(file)
    (finding,) = caught.value.findings
    assert finding.path == "pools[0].nods" and file.read_text().splitlines()[finding.line - 1].strip().startswith(
        '"nods"'
    )
    file.write_text('{"name": "a", "name": "b"}')
    with pytest.raises(SpecError, match="duplicate"):
        load(file)
    file.write_text('{"name": \n "a",}')
    with pytest.raises(SpecError) as caught:
        load(file)
    assert caught.value.findings[0].line == 2


@pytest.mark.parametrize("content", [b"", b"- a\n", b"42", b"\xff\xfe", b"\x00", b"null"])
def test_what_is_no_spec(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_bytes(content)
    with pytest.raises(SpecError, match="cluster.yaml"):
        load(file)


def test_absent_files_and_folders(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(SpecError, match=str(path)):
            load(path)


def test_names_are_unique() -> None:
    assert "duplicate name" in problems(GOOD + "  - {name: train, machine: b200, nodes: 1}\n")[0][2]
    twice = GOOD + "  - {name: other, machine: b200, nodes: 1, hostname: train}\n"
    assert "another hostname" in problems(twice)[0][2]


JOB = "name: llama\ncommand: [torchrun, train.py]\naccelerators: {type: '>=h100', count: 512}\n"


def test_jobs(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB + "parallelism: {tensor: 8, pipeline: 4, data: 16}\ntime_limit: 24 h\n")
    job = load_job(file).model
    assert job.accelerators.type == (">=h100",) and job.accelerator_count == 512
    file.write_text(JOB + "parallelism: {tensor: 8, pipeline: 4, data: 15}\n")
    with pytest.raises(SpecError, match="= 480, but accelerators.count is 512"):
        load_job(file)
    file.write_text("name: a\n")
    with pytest.raises(SpecError, match="'command'.*or a 'script'"):
        load_job(file)
    file.write_text("name: a\ncommand: torchrun train.py\n")
    with pytest.raises(SpecError, match="is not a list"):
        load_job(file)


@pytest.mark.parametrize(
    "said",
    [
        "time_limit: 0 s",
        "time_limit: -1 h",
        "deadline: -5 min",
        "budget: -3 USD",
        "checkpoint: {path: /a, every: 0 s}",
        "checkpoint: {path: /a, size: 0 B}",
        "place: {max_price: -1 USD/h}",
    ],
)
def test_times_and_amounts_that_are_none(tmp_path: Path, said: str) -> None:
    """To Slurm a time of 0 is no limit at all."""
    file = tmp_path / "job.yaml"
    file.write_text(f"{JOB}{said}\n")
    with pytest.raises(SpecError, match="must be greater than 0|must not be negative"):
        load_job(file)


def test_a_cluster_is_a_fleet_of_one(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(GOOD)
    fleet = load_fleet(file).model
    assert fleet.name == "pod1" and [member.spec for member in fleet.clusters] == ["cluster.yaml"]
    file.write_text(
        "name: company\nclusters:\n  - {spec: pod1.yaml, connect: {engine: slurm, via: 'ssh:login.example.com'}}\n"
        "budgets: [{tenant: llm, per: month, limit: 400000 USD}]\n"
        "data: [{name: corpus, size: 300 TB, at: [pod1/scratch, trainer/data]}]\n"
        "policy: {minimize: cost, weights: {carbon: 0.2, wait: 0.3}}\n"
    )
    assert load_fleet(file).model.clusters[0].connect is not None


def slurm(via: str) -> str:
    return f"{{engine: slurm, via: '{via}'}}"


SAME = [
    ("{engine: kubernetes}", "{engine: kubernetes}"),
    ("{engine: kubernetes, context: a}", "{engine: kubernetes, context: a}"),
    ("{engine: slurm}", "{engine: slurm}"),
    ("{engine: slurm}", slurm("ssh:localhost")),
    (slurm("ssh:x"), slurm("ssh:x")),
    (slurm("ssh:login.example.com"), slurm("ssh:ann@Login.Example.com.")),
    (slurm("ssh:x"), slurm("ssh:bob@x:22")),
    (slurm("https://Ctl1:443/"), slurm("https://ctl1")),
    (slurm("https://ctl1:6820"), slurm("http://CTL1.:6820//")),
    (slurm("http://127.0.0.1:6820"), slurm("http://localhost:6820")),
    (slurm("https://[2001:db8::1]:6820"), slurm("https://[2001:0DB8:0::1]:6820")),
]
DIFFERENT = [
    ("{engine: kubernetes, context: a}", "{engine: kubernetes, context: b}"),
    ("{engine: kubernetes, context: a}", "{engine: kubernetes}"),
    ("{engine: kubernetes}", "{engine: slurm}"),
    ("{engine: kubernetes, stack: a/b/c}", "{engine: kubernetes, stack: a/b/d}"),
    ("{engine: fake}", "{engine: fake}"),
    (slurm("ssh:gate:2201"), slurm("ssh:gate:2202")),
    (slurm("https://gate/one"), slurm("https://gate/two")),
    (slurm("ssh:localhost:2201"), "{engine: slurm}"),
]


@pytest.mark.parametrize("first, second", [*SAME, *DIFFERENT])
def test_two_clusters_of_a_fleet_that_mean_the_same_scheduler(tmp_path: Path, first: str, second: str) -> None:
    """Its nodes would be given out twice: both lines are named, with what tells them apart."""
    file = tmp_path / "fleet.yaml"
    file.write_text(
        f"name: f\nclusters:\n  - {{spec: a.yaml, connect: {first}}}\n  - {{spec: mid.yaml}}\n"
        f"  - {{spec: b.yaml, connect: {second}}}\n"
    )
    if (first, second) in DIFFERENT:
        assert len(load_fleet(file).model.clusters) == 3
        return
    with pytest.raises(SpecError) as caught:
        load_fleet(file)
    [finding] = caught.value.findings
    assert (finding.path, finding.line) == ("clusters[2].connect", 5)
    assert all(part in str(finding) for part in ("(a.yaml)", "(b.yaml)", "at line 3", "set a different connect."))


@pytest.mark.parametrize(
    "connect, field",
    [
        ("{engine: local, via: 'ssh:x'}", "via"),
        ("{engine: local, context: a}", "context"),
        ("{engine: local, stack: a/b/c}", "stack"),
        ("{engine: slurm, context: a}", "context"),
        ("{engine: kubernetes, via: 'https://x'}", "via"),
    ],
)
def test_a_connection_says_nothing_that_its_engine_does_not_use(tmp_path: Path, connect: str, field: str) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_text(f"name: f\nclusters:\n  - {{spec: a.yaml}}\n  - {{spec: b.yaml, connect: {connect}}}\n")
    with pytest.raises(SpecError) as caught:
        load_fleet(file)
    [finding] = caught.value.findings
    assert (finding.path, finding.line) == (f"clusters[1].connect.{field}", 4) and "is not used by" in finding.problem


def test_a_value_of_another_kind_says_how_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("name: t\ncommand: torchrun train.py\naccelerators: 8\nretries: -3\nimage: 24.01\n")
    with pytest.raises(SpecError) as caught:
        load_job(file)
    assert {item.path: item.hint for item in caught.value.findings} == {
        "command": "write [torchrun, train.py]",
        "accelerators": "write {count: 8}, of all nodes together",
        "retries": "use 0 or more",
        "image": "put it in quotes",
    }


ACCOUNTS = {
    "root:*:20228:0:99999:7:::": None,
    "ann:$y$j9T$k3Wq/w$8mVQ:20228:0:99999:7:::": None,
    "bob:$6$hM7/$aZ9.u1:20228:0:99999:7:::": None,
}


@pytest.mark.parametrize("suffix", [".yaml", ".json", ""])
def test_keys_of_a_file_that_is_no_spec_are_not_shown(tmp_path: Path, suffix: str) -> None:
    rows = [*ACCOUNTS, next(iter(ACCOUNTS))]  # one of them twice
    text = (
        "{" + ", ".join(f'"{row}": 1' for row in rows) + "}"
        if suffix == ".json"
        else "\n".join(f"{row}" for row in rows)
    )
    (tmp_path / f"accounts{suffix}").write_text(text + "\n")
    (tmp_path / "fleet.yaml").write_text(f"name: f\nclusters: [{{spec: accounts{suffix}}}]\n")
    for read in (load, load_job, load_fleet, lambda path: load_fleet_state(path.parent / "fleet.yaml")):
        with pytest.raises(SpecError) as caught:
            read(tmp_path / f"accounts{suffix}")
        said = str(caught.value) + repr(caught.value.findings)
        assert not any(part in said for row in ACCOUNTS for part in (row, row[6:], "20228"))
        lines = {item.line for item in caught.value.findings if "not a field" in item.problem}
        assert suffix == ".json" or lines >= {2, 3}


def test_what_a_mapping_holds_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("kind: Secret\ndata: {password: aHVudGVyMg==}\nname: [hunter2]\n")
    with pytest.raises(SpecError) as caught:
        load_fleet(tmp_path / "secret.yaml")
    assert "aHVudGVyMg" not in str(caught.value) and "hunter2" not in str(caught.value)
    assert "a mapping is not a list" in str(caught.value)


def test_a_misspelled_key_of_a_spec_is_shown() -> None:
    assert "'my pools'" in problems(GOOD + "my pools: []\n")[0][2]
    assert "unknown field 'poolz'" in [item[2] for item in problems("poolz: []\n")]


CONTROLLERS = (
    "{{name: a, site: {{kind: onprem, location: stockholm}}, pools: [{{name: t, machine: dgx-h100, nodes: 1}}], \
scheduler: {{kind: slurm, version: '25.11', controllers: {}}}}}"
)
AFTER = "{{name: a, script: echo, after: {}}}"


@pytest.mark.parametrize(
    "text, reader, value, hint",
    [
        (CONTROLLERS, load, "2", "write a list of mappings: [{name: …}]"),
        (CONTROLLERS, load, "ctl1 ctl2", "write [{name: ctl1}, {name: ctl2}]"),
        (CONTROLLERS, load, "{name: ctl1}", "write [{name: ctl1}]"),
        (AFTER, load_job, "7", 'write ["7"]'),
        (AFTER, load_job, "hello", "write [hello]"),
    ],
)
def test_what_a_hint_proposes_is_taken(
    tmp_path: Path, text: str, reader: Callable[[Path], object], value: str, hint: str
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text.format(value))
    with pytest.raises(SpecError) as caught:
        reader(file)
    assert [finding.hint for finding in caught.value.findings] == [hint]
    if hint.startswith("write ["):
        file.write_text(text.format(hint.removeprefix("write ")))
        reader(file)


A_CLUSTER = "{name: a, site: {kind: onprem, location: stockholm}, pools: [{name: t, machine: dgx-h100, nodes: 1}]}"
A_JOB = "{name: a, script: echo}"
A_FLEET = "{name: a, clusters: [{spec: a.yaml}]}"


@pytest.mark.parametrize(
    "text, reader, said",
    [
        (A_CLUSTER, load_job, "is a cluster spec, not a job; .*--on"),
        (A_FLEET, load_job, "is a fleet, not a job; .*--on"),
        (A_JOB, load, "is a job, not a cluster spec; .*supercloud place"),
        (A_JOB, load_fleet, "is a job, not a fleet; pass the spec of a cluster"),
        (A_FLEET, load, "is a fleet, not a cluster spec; pass the spec of one of its clusters"),
    ],
)
def test_a_file_of_another_kind_is_called_by_its_name(
    tmp_path: Path, text: str, reader: Callable[[Path], object], said: str
) -> None:
    (tmp_path / "file.yaml").write_text(text)
    with pytest.raises(SpecError, match=said) as caught:
        reader(tmp_path / "file.yaml")
    assert not caught.value.findings


def test_a_part_of_a_fields_name_is_meant_before_similar_letters(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("{name: a, command: [x], time: 2 h, node: 3}")
    with pytest.raises(SpecError) as caught:
        load_job(tmp_path / "job.yaml")
    hints = {item.path: item.hint for item in caught.value.findings}
    assert hints["time"].startswith("write time_limit: 24 h")
    assert hints["node"].startswith("did you mean nodes")


JOB_TEXT = "name: a\nscript: 'true'\n"


@pytest.mark.parametrize(
    "data, line, said",
    [
        (JOB_TEXT.encode("utf-16"), 0, "line 1, byte 0.*it is UTF-16; save it as UTF-8"),
        (JOB_TEXT.encode("utf-16-le"), 1, "#x0000 is not allowed in YAML.*looks like UTF-16.*iconv"),
        (JOB_TEXT.encode("utf-32"), 0, "it is UTF-32; save it as UTF-8"),
        (b"\x7fELF\x02\x01\x01" + bytes(20) + b"\xff\xfe", 0, "looks like a program or an archive"),
        ("name: \u00e4".encode("latin-1"), 0, "line 1, byte 6.*save it as UTF-8"),
        (b'name: a\nscript: "a\x1b"\n', 2, "#x001b is not allowed in YAML.*remove it"),
        (b"name: a\nplace:\n\tpools: [a]\n", 3, "starts with a tab.*replace the tab with spaces"),
        (b"name: a\n---\nname: b\n", 3, "a second document starts here.*to a separate file"),
        (b'name: "a\nscript: x\n', 3, "it starts at line 1.*correct the syntax"),
        (b"name: a\nname: b\nscript: x\n", 2, "duplicate key 'name'.*remove one"),
        (b"name: a\nscript: |\n" + b"  x\n" * 600_000, 2, "is longer than 1048576.*use 1048576 characters or fewer"),
    ],
    ids=range(11),
)
def test_a_file_that_cannot_be_read_says_where_and_what_to_do(
    tmp_path: Path, data: bytes, line: int, said: str
) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(data)
    with pytest.raises(SpecError) as caught:
        load_job(file)
    assert re.search(said, str(caught.value), re.S) and "job.yaml" in str(caught.value)
    assert not line or [finding.line for finding in caught.value.findings][:1] == [line]


def test_a_mark_of_the_byte_order_and_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + JOB_TEXT.replace("\n", "\r\n").encode())
    assert load_job(file).model.name == "a"


@pytest.mark.parametrize(
    "read, said",
    [
        (load, "'supercloud init FILE'"),
        (load_fleet, "clusters: .*connect:"),
        (load_job, "command: .hostname."),
    ],
)
def test_a_file_that_is_missing_says_how_to_get_a_first_one(
    tmp_path: Path, read: Callable[[Path], object], said: str
) -> None:
    with pytest.raises(SpecError, match=f"file not found; .*{said}"):
        read(tmp_path / "missing.yaml")
