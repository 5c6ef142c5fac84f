"""The same job files on this machine, on Slurm and on Slurm through SSH, with both releases, also with lost nodes.

Each file is submitted in every way before the first wait, because Slurm needs most of the time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator

import pytest
from answers import clear, get_job, list_hosts
from images_lab import IMAGE, load_plugin, make_image
from installed import Slurm
from jobs_lab import NODES, Jobs, run_contract, start_cluster_lab
from lab import Lab, LabError
from layers import CACHE
from real.polling import check_stays
from ssh_lab import start_sshd

from supercloud.jobs.engines.slurm.engine import SlurmEngine

SLURM = {"slurm": ["--engine", "slurm"], "ssh": ["--engine", "slurm", "--via", "ssh:login"]}
WAYS: dict[str, list[str]] = {"local": ["--engine", "local"], **SLURM}


@pytest.fixture(scope="module", params=["2205", pytest.param("new", marks=pytest.mark.extended)])
def jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    slurm: Slurm = request.getfixturevalue(f"slurm_{request.param}")
    folder = tmp_path_factory.mktemp("pod")
    with start_cluster_lab(slurm, folder) as lab:
        load_plugin(lab, slurm, CACHE, folder)
        make_image(lab)
        lab.start()
        lab.wait_nodes(NODES, 4)
        start_sshd(lab, slurm, CACHE)
        yield Jobs(lab)


@pytest.fixture
def lab(jobs: Jobs) -> Lab:
    return jobs.lab


@pytest.fixture(autouse=True)
def _idle(lab: Lab) -> Iterator[None]:
    yield
    clear(lab)
    lab.wait_nodes(NODES, 4)


def submit_each(jobs: Jobs, text: Callable[[str], str] | str, ways: dict[str, list[str]] = WAYS) -> dict[str, int]:
    """Submit a job in every way; return way -> number."""
    return {way: jobs.submit(text if isinstance(text, str) else text(way), *words) for way, words in ways.items()}


TWO_NODES = """\
name: two
command: [sh, -c, 'echo "rank $RANK of $WORLD_SIZE, node $NODE_RANK of $NNODES, mask $(umask),
          sees $CUDA_VISIBLE_DEVICES: $1"', sh,
          "$(touch /home/lab/hacked) 'quoted' \\"twice\\" \\\\ ; touch /home/lab/hacked"]
accelerators: {count: 16}
env: {V: "$(touch /home/lab/hacked)`touch /home/lab/hacked`"}
time_limit: 5 min
tenant: llm
"""


def test_the_contract_of_engines(lab: Lab) -> None:
    run_contract(lab, "slurm", "slurm=ssh:login")


def test_the_same_file_runs_in_the_same_way(jobs: Jobs, lab: Lab) -> None:
    numbers = submit_each(jobs, TWO_NODES)
    assert all(message.startswith("COMPLETED") for message in jobs.wait(*numbers.values()).values())
    message = """$(touch /home/lab/hacked) 'quoted' "twice" \\ ; touch /home/lab/hacked"""
    for way, number in numbers.items():
        # the local engine divides the eight accelerators of this machine between its two nodes
        sees = ["0,1,2,3", "4,5,6,7"] if way == "local" else ["0,1,2,3,4,5,6,7"] * 2
        assert sorted(jobs.read_logs(number).splitlines()) == [
            f"rank {rank} of 2, node {rank} of 2, mask 0022, sees {sees[rank]}: {message}" for rank in range(2)
        ]
    assert lab.run("ls /home/lab/hacked", check=False).returncode != 0
    assert lab.run("ls -d /home/lab/.supercloud/slurm/*/log").stdout, "with SSH, log and script are on the login node"
    lines = lab.run_supercloud("jobs", "--limit", "3").stdout.splitlines()
    assert [line.split()[1:5] for line in lines[1:]] == [
        ["two", "COMPLETED", "1", "slurm"],
        ["two", "COMPLETED", "1", "slurm"],
        ["two", "COMPLETED", "1", "local"],
    ]


def test_exit_codes_are_retried_by_rule(jobs: Jobs) -> None:
    numbers = submit_each(
        jobs,
        """\
name: retry
command: [sh, -c, 'echo "epoch $SUPERCLOUD_EPOCH"; [ "$SUPERCLOUD_EPOCH" -ge 2 ] || exit 42; exit 3']
retries: 5
retry_rules: [{exit_codes: [42, 43], action: retry}]
tenant: llm
""",
    )
    assert set(jobs.wait(*numbers.values(), timeout=180).values()) == {"FAILED: ended with exit code 3"}
    for number in numbers.values():
        assert [line for line in jobs.read_logs(number).splitlines() if line.startswith("epoch")] == [
            "epoch 1",
            "epoch 2",
        ]


def test_an_array_reports_its_failed_tasks(jobs: Jobs) -> None:
    text = """\
name: array
script: |
  echo "task $SUPERCLOUD_ARRAY_INDEX of $SUPERCLOUD_ARRAY_COUNT"
  [ $SUPERCLOUD_ARRAY_INDEX != 2 ] || exit 5
array: 4
tenant: llm
"""
    bad, fine = submit_each(jobs, text), submit_each(jobs, text.replace("exit 5", "true"))
    ended = jobs.wait(*bad.values(), *fine.values())
    for way in WAYS:
        assert ended[bad[way]] == "FAILED: 1 of 4 tasks: ended with exit code 5"
        assert ended[fine[way]].startswith("COMPLETED")
        lines = sorted(line for line in jobs.read_logs(bad[way]).splitlines() if line.startswith("task"))
        assert lines == [f"task {index} of 4" for index in range(4)]


def test_dependent_jobs_run_in_order(jobs: Jobs, lab: Lab) -> None:
    held = "until [ -e /home/lab/go ]; do sleep 0.2; done"  # all jobs are submitted before the first one ends
    first = submit_each(jobs, f"{{name: first, command: [sh, -c, '{held}; date +%s%N'], tenant: llm}}")
    second = submit_each(
        jobs, lambda way: f"{{name: second, command: [date, +%s%N], tenant: llm, after: ['{first[way]}']}}"
    )
    bad = submit_each(jobs, f"{{name: bad, command: [sh, -c, '{held}; exit 1'], tenant: llm}}")
    never = submit_each(jobs, lambda way: f"{{name: never, command: [echo, no], tenant: llm, after: ['{bad[way]}']}}")
    lab.run("touch /home/lab/go")
    ended = jobs.wait(*second.values(), *never.values())
    for way in WAYS:
        assert ended[second[way]].startswith("COMPLETED")
        assert int(jobs.read_logs(first[way])) < int(jobs.read_logs(second[way]))
        assert ended[never[way]].split(":")[0] in ("FAILED", "CANCELLED") and not jobs.read_logs(never[way])
    lab.run("rm /home/lab/go")


def test_secrets_are_passed_by_name_only(jobs: Jobs, lab: Lab) -> None:
    lab.run(
        "mkdir -p -m 700 .config/supercloud/secrets; (umask 077; printf 'hunter2 $x\\n' "
        ">.config/supercloud/secrets/token); echo open >.config/supercloud/secrets/loose; "
        "chmod 644 .config/supercloud/secrets/loose",
        user="lab",
        cwd="/home/lab",
    )
    text = """\
name: secret
command: [sh, -c, 'printf %s "$T" | sha256sum']
tenant: llm
secrets: [{env: T, name: token}]
"""
    kept, loose = submit_each(jobs, text), submit_each(jobs, text.replace("name: token", "name: loose"))
    ended = jobs.wait(*kept.values(), *loose.values())
    wanted = lab.run("printf 'hunter2 $x' | sha256sum").stdout.split()[0]
    for way in WAYS:
        assert ended[kept[way]].startswith("COMPLETED") and jobs.read_logs(kept[way]).split()[0] == wanted
        assert ended[loose[way]].startswith("FAILED")
    found = lab.run("grep -rls hunter2 /home/lab /var/spool --include=* 2>/dev/null || true").stdout.split()
    assert found == ["/home/lab/.config/supercloud/secrets/token"]


LONG = """\
name: long
script: |
  next=$("$SUPERCLOUD_COMMIT" latest)
  echo "epoch $SUPERCLOUD_EPOCH from ${next##*/} on $(uname -n)"
  mkdir -p "$SUPERCLOUD_CHECKPOINT/new.$SUPERCLOUD_EPOCH"
  "$SUPERCLOUD_COMMIT" commit step "$SUPERCLOUD_CHECKPOINT/new.$SUPERCLOUD_EPOCH"
  if [ "$SUPERCLOUD_EPOCH" = 1 ]; then sleep 600; fi
accelerators: {type: h100, count: 8}
checkpoint: {path: /home/lab/ckpt-WAY}
time_limit: 20 min
tenant: llm
retries: 1
"""


def test_jobs_of_lost_nodes_continue_from_their_checkpoints(jobs: Jobs, lab: Lab) -> None:
    numbers = submit_each(jobs, lambda way: LONG.replace("WAY", way), SLURM)
    victims = {}
    for way, number in numbers.items():
        lab.wait_for("the first checkpoint", lambda number=number: "step" in jobs.read_logs(number), interval=0.5)
        (victims[way],) = list_hosts(get_job(lab, jobs.get_record(number)["ref"])["NodeList"])
    for victim in victims.values():
        lab.kill_node(victim)
    assert set(jobs.wait(*numbers.values(), timeout=240).values()) == {"COMPLETED"}
    for way, number in numbers.items():
        lines = [line for line in jobs.read_logs(number).splitlines() if line.startswith("epoch")]
        assert [line.split(" on ")[0] for line in lines] == ["epoch 1 from ", "epoch 2 from 0000000001-00000001-step"]
        assert victims[way] not in lines[1] and jobs.get_record(number)["total_attempts"] == 2
        lab.start_nodes(victims[way])
    lab.wait_nodes(NODES, 4)


def test_killed_submissions_are_neither_lost_nor_repeated(jobs: Jobs, lab: Lab) -> None:
    chance, took = random.Random(20261121), {}
    for way, words in SLURM.items():
        began = time.monotonic()
        jobs.submit("{name: killed, command: ['true'], tenant: llm}", *words)
        took[way] = time.monotonic() - began  # on this machine with its current load; below two run at a time
    lab.wait_for("the accounts have those", lambda: count_runs(lab) >= len(SLURM), interval=0.5)
    before = count_runs(lab)
    loops = [
        f"""
        n=0
        for pause in {" ".join(f"{chance.uniform(0.4, 2) * took[way]:.2f}" for _ in range(14))}; do
            n=$((n + 1))
            $supercloud submit job.yaml --on pod.yaml {" ".join(words)} --key killed-{way}-$n >/dev/null 2>&1 & pid=$!
            sleep $pause; kill -9 $pid; wait $pid
            {"for ssh in $(pgrep -u lab -x ssh); do kill -9 $ssh; done" if way == "ssh" else ""}
        done &
    """
        for way, words in SLURM.items()
    ]
    script = "\n".join([f"supercloud={lab.product.command}", *loops, "wait"])
    lab.run(
        f"( {script} ) 2>/dev/null; true",
        user="lab",
        timeout=240,
        cwd="/home/lab",
        env={"SUPERCLOUD_STATE": "/home/lab/supercloud-state"},
    )

    left: list[str] = []

    def are_completed() -> object:
        mine = [row for row in jobs.list_rows() if row["key"].startswith("killed-")]
        left[:] = [f"{row['key']} {row['state']} {row['reason']}" for row in mine if row["state"] != "COMPLETED"]
        return mine and not left

    try:
        # a submission of a killed process is repeated only when it can no longer arrive
        lab.wait_for(
            "all that were recorded have run", are_completed, interval=1, timeout=SlurmEngine.late_arrival + 120
        )
    except LabError as error:
        raise LabError(f"{left}\n{error}") from None
    mine = [row for row in jobs.list_rows() if row["key"].startswith("killed-")]
    lab.wait_for("the accounts have them all", lambda: count_runs(lab) - before >= len(mine), interval=1)
    check_stays("each job ran once", lambda: count_runs(lab) - before == len(mine), 2)


def count_runs(lab: Lab) -> int:
    return int(lab.run("sacct -n -X -a -S now-1hours --name=killed | wc -l").stdout)


def test_licenses_are_held_while_a_job_runs(jobs: Jobs, lab: Lab) -> None:
    text = "{name: licensed, command: [sleep, '600'], tenant: llm, licenses: {solver: 2}}"
    first, second = submit_each(jobs, text, SLURM).values()
    lab.wait_for("one runs", lambda: jobs.get_record(first)["state"] == "RUNNING", interval=0.5)
    lab.wait_for("one waits", lambda: "licenses" in jobs.get_record(second)["reason"], interval=0.5)
    assert get_job(lab, jobs.get_record(second)["ref"])["Licenses"] == "solver:2"
    for number in (first, second):
        lab.run_supercloud("cancel", str(number))
    lab.put("/home/lab/job.yaml", text.replace("solver: 2", "solver: 4"))
    words = ["submit", "/home/lab/job.yaml", "--on", "/home/lab/pod.yaml", *WAYS["slurm"]]
    refused = lab.run_supercloud(*words, check=False)
    assert refused.returncode == 2 and "request at most 3" in refused.stderr


IN_IMAGE = f"""\
name: inside
command: [sh, -c, 'cat /etc/image; [ ! -e /lab ] && echo "rank $RANK on $(uname -n)"']
image: {IMAGE}
accelerators: {{count: 16}}
tenant: llm
"""
SCRIPT_IN_IMAGE = f"""\
name: script-inside
script: |
  cat /etc/image
  read -r line
  mkdir "$SUPERCLOUD_CHECKPOINT/new" && "$SUPERCLOUD_COMMIT" commit step "$SUPERCLOUD_CHECKPOINT/new"
  [[ $0 = /tmp/* ]] && exit 3
image: {IMAGE}
checkpoint: {{path: /home/lab/inside-WAY}}
tenant: llm
"""


def test_programs_and_scripts_in_an_image(jobs: Jobs, lab: Lab) -> None:
    """The test plugin has the options of pyxis: the tasks run in another root folder."""
    programs = submit_each(jobs, IN_IMAGE, SLURM)
    lab.run("mkdir -p /home/lab/inside-slurm /home/lab/inside-ssh", user="lab")
    scripts = submit_each(jobs, lambda way: SCRIPT_IN_IMAGE.replace("WAY", way), SLURM)
    ended = jobs.wait(*programs.values(), *scripts.values())
    for way in SLURM:
        assert ended[programs[way]] == "COMPLETED" and ended[scripts[way]] == "FAILED: ended with exit code 3"
        lines = [line for line in jobs.read_logs(programs[way]).splitlines() if line.startswith(("tools", "rank"))]
        assert sorted(line[:6] for line in lines) == ["rank 0", "rank 1", "tools ", "tools "]
        lines = jobs.read_logs(scripts[way]).splitlines()
        assert "tools 1.2" in lines and f"/home/lab/inside-{way}/0000000001-00000001-step" in lines
    lab.run("mv /etc/slurm/plugstack.conf /etc/slurm/plugstack.off")
    number = jobs.submit(IN_IMAGE, *SLURM["slurm"])
    assert jobs.wait(number)[number] == "FAILED: ended with exit code 78"
    assert "no pyxis, apptainer" in jobs.read_logs(number)
    lab.run("mv /etc/slurm/plugstack.off /etc/slurm/plugstack.conf")


@pytest.mark.parametrize(
    "text, message",
    [
        ("{name: a, command: [a], tenant: llm, accelerators: {count: 33}}", "train"),
        ("{name: a, command: [a], tenant: nobody}", "nobody"),
        ("{name: 'a;b', command: [a]}", "name"),
    ],
)
def test_invalid_jobs_are_not_submitted(lab: Lab, text: str, message: str) -> None:
    lab.put("/home/lab/job.yaml", text)
    done = lab.run_supercloud("submit", "/home/lab/job.yaml", "--on", "/home/lab/pod.yaml", *WAYS["ssh"], check=False)
    assert done.returncode == 2 and message in done.stderr
