"""Programs and scripts in images: the batch script in a real bash, with stand-ins for the runtimes of a cluster."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supercloud.jobs.engines.shebang import parse_shebang
from supercloud.jobs.engines.slurm.containers import build_script_feed, format_image
from supercloud.jobs.engines.slurm.script import render_script
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.spec import JobSpec

SHELLCHECK = Path(sysconfig.get_path("scripts")) / "shellcheck"
Make = Callable[..., JobSpec]
AT = Placement("c", "p", 2, 8, 8, "h100-sxm", request=SlurmRequest("h100"))
IMAGE: dict[str, Any] = {"image": "nvcr.io/nvidia/pytorch:26.01-py3", "workdir": "/", "checkpoint": {"path": "/tmp"}}

# Runs the command of a step here, after its options; with pyxis its help shows it.
SRUN = """\
#!/bin/sh
if [ "$1" = --help ]; then
    [ -z "$PYXIS" ] || echo '      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH'
    exit
fi
while :; do case $1 in --*) echo "$1" >>"$SAID"; shift ;; *) break ;; esac; done
SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NTASKS=1 SLURM_JOB_ID=7 exec "$@"
"""
APPTAINER = """\
#!/bin/sh
echo "$*" >>"$SAID"
while [ "$1" != docker://nvcr.io/nvidia/pytorch:26.01-py3 ]; do shift; done
shift; exec "$@"
"""
ENROOT = """\
#!/bin/sh
echo "$*" >>"$SAID"
case $1 in
create) echo "$3" >>"$MADE" ;;
list) cat "$MADE" 2>/dev/null ;;
start) while [ "$1" != supercloud-7 ]; do shift; done; shift; exec "$@" ;;
esac
"""


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., tuple[str, list[str]]]:
    """Run a batch script with these programs installed; returns its output and their arguments."""

    def run(text: str, *programs: str, code: int = 0) -> tuple[str, list[str]]:
        folder = tmp_path / "-".join(("bin", *programs))
        folder.mkdir()
        for name, body in (("srun", SRUN), ("apptainer", APPTAINER), ("enroot", ENROOT), ("scontrol", "#!/bin/sh\n")):
            if name in (*programs, "srun", "scontrol"):
                (folder / name).write_text(body)
                (folder / name).chmod(0o755)
        env = {
            "PATH": f"{folder}:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "SAID": str(folder / "said"),
            "MADE": str(folder / "made"),
            "TMPDIR": str(folder),
            "PYXIS": "1" if "pyxis" in programs else "",
        }
        done = subprocess.run(["bash", "-c", text], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == code, done.stderr
        log = folder / "said"
        return done.stdout + done.stderr, log.read_text().splitlines() if log.exists() else []

    return run


HOME = "$HOME/.supercloud/slurm"
SCRIPT = """\
#!/usr/bin/env bash
echo "$0 $RANK" | sed 's,.*supercloud-script[0-9.]* ,script. ,'
read -r line && echo "fed: $line"
[[ -n $A ]] && echo 'it'"'s $A"
"""


@pytest.mark.parametrize("programs", [("pyxis",), ("apptainer",), ("enroot",)])
def test_programs_and_scripts_run_in_a_container(job: Make, ran: Callable[..., Any], programs: tuple[str, ...]) -> None:
    output, _ = ran(render_script(job(["echo", "it's $A", "b"], **IMAGE), AT, "k", HOME), *programs)
    assert output == "it's $A b\n"
    asked = job(script=SCRIPT, env={"A": "a  b"}, **IMAGE)
    output, arguments = ran(render_script(asked, AT, "k", HOME), *programs, "again")
    assert output == "script. 0\nit's a  b\n", "nothing of the script is its input"
    assert "--nodes=1" in arguments


def test_pyxis_gets_the_mounts(job: Make, ran: Callable[..., Any], tmp_path: Path) -> None:
    _, arguments = ran(render_script(job(["true"], **IMAGE), AT, "k", HOME), "pyxis")
    assert arguments[-4:] == [
        "--container-image=nvcr.io#nvidia/pytorch:26.01-py3",
        "--no-container-mount-home",
        f"--container-mounts=/:/,/tmp:/tmp,{tmp_path}/.supercloud/slurm:{tmp_path}/.supercloud/slurm",
        "--container-workdir=/",
    ]


def test_apptainer_and_enroot_get_the_same_options(job: Make, ran: Callable[..., Any], tmp_path: Path) -> None:
    text, spool = render_script(job(["true"], **IMAGE), AT, "k", HOME), tmp_path / ".supercloud/slurm"
    _, arguments = ran(text, "apptainer")
    assert (
        f"exec --bind /:/,/tmp:/tmp,{spool}:{spool}" in arguments[-1] and "--pwd / docker://nvcr.io/" in arguments[-1]
    )
    _, arguments = ran(text, "enroot")
    imported, made, started = arguments[-3:]
    assert imported.startswith("import --output ") and imported.endswith("docker://nvcr.io#nvidia/pytorch:26.01-py3")
    assert made.startswith("create --name supercloud-7 ")
    for mount in ("/:/", "/tmp:/tmp", f"{spool}:{spool}"):
        assert f"--mount {mount}" in started


def test_a_node_without_a_container_runtime_is_an_error(job: Make, ran: Callable[..., Any]) -> None:
    output, _ = ran(render_script(job(["true"], **IMAGE), AT, "k", HOME), code=78)
    assert "no pyxis, apptainer, singularity or enroot" in output


def test_an_oci_bundle_is_passed_to_slurm(job: Make, ran: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/config.json").write_text("{}")
    _, arguments = ran(render_script(job(["true"], image=f"{tmp_path}/bundle"), AT, "k", HOME), "pyxis")
    assert arguments[-1] == f"--container={tmp_path}/bundle"


@pytest.mark.parametrize("wish", [{}, {"retries": 2, "retry_rules": [{"exit_codes": [5], "action": "retry"}]}])
def test_exit_codes_are_passed_through_containers(job: Make, ran: Callable[..., Any], wish: dict[str, Any]) -> None:
    ran(render_script(job(script="exit 9", **IMAGE, **wish), AT, "k", HOME), "pyxis", code=9)
    ran(render_script(job(["sh", "-c", "exit 4"], **IMAGE, **wish), AT, "k", HOME), "apptainer", code=4)


@pytest.mark.slow
@pytest.mark.parametrize("home", ["'/state/with space'", HOME])
def test_batch_scripts_with_images_pass_shellcheck(job: Make, home: str) -> None:
    retried = {"retries": 3, "retry_rules": [{"exit_codes": [42], "action": "retry"}]}
    for asked in (job(["echo", "a"], **IMAGE, **retried), job(script=SCRIPT, **IMAGE), job(["a"], image="/a b/c.sqsh")):
        text = render_script(asked, AT, "k", home, change_folder=True)
        command = [SHELLCHECK, "-s", "bash", "-e", "SC2016,SC2034", "-"]
        done = subprocess.run(command, input=text, text=True, capture_output=True)
        assert done.returncode == 0, done.stdout


def test_a_script_can_have_its_end_marker() -> None:
    body = "cat <<END_OF_SCRIPT\nhello\nEND_OF_SCRIPT\n"
    _, document = build_script_feed(body)
    assert document == f"<<'END_OF_SCRIPT_'\n{body}END_OF_SCRIPT_\n"


@pytest.mark.parametrize(
    "image, name",
    [
        ("nvcr.io/nvidia/pytorch:26.01-py3", "nvcr.io#nvidia/pytorch:26.01-py3"),
        ("ubuntu:24.04", "ubuntu:24.04"),
        ("library/ubuntu", "library/ubuntu"),
        ("/images/a.sqsh", "/images/a.sqsh"),
        ("localhost:5000/a/b", "localhost:5000#a/b"),
    ],
)
def test_images_have_the_format_of_pyxis(image: str, name: str) -> None:
    assert format_image(image) == name


@pytest.mark.parametrize(
    "first, words",
    [
        ("#!/bin/bash -e", ("/bin/bash", "-e")),
        ("#!/usr/bin/env bash", ("bash",)),
        ("#! /bin/sh", ("/bin/sh",)),
        ("#!/usr/bin/env -S bash -eu", ("bash", "-eu")),
        ("true", ()),
        ("#!", ()),
    ],
)
def test_the_interpreter_of_a_script_is_read(first: str, words: tuple[str, ...]) -> None:
    assert parse_shebang(f"{first}\ntrue\n") == words
