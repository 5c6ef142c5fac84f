"""Logs of machines on AWS: the agent that ships them is put on every instance, and started once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from offline.graph import Graph
from programs import SLURM, SPECS, read_statements, record_spec

import supercloud as sc
from supercloud.targets.clouds.aws.log_agent import LOG_FILES

# a generated SDK warns of each deprecated class when its module is loaded, used or not
pytestmark = pytest.mark.filterwarnings("ignore:.* has been deprecated in favor of:DeprecationWarning")
DOCUMENT = "aws:ssm/document:Document"
AGENT = "/opt/aws/amazon-cloudwatch-agent"


def read_steps(found: Graph) -> list[dict[str, Any]]:
    content = json.loads(found.one(DOCUMENT).inputs["content"])
    made: list[dict[str, Any]] = content["mainSteps"]
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", SLURM)
def test_every_instance_gets_the_agent_and_may_write_logs(name: str) -> None:
    found = record_spec(name)
    asked = found.one("aws:ssm/association:Association").inputs
    assert asked["targets"] == [{"key": "tag:supercloud:cluster", "values": ["project/stack/prod"]}]
    assert asked["name"] == "prod-log-agent-name" and asked["scheduleExpression"].startswith("rate(")
    for entry in found.of_type("aws:iam/rolePolicy:RolePolicy"):
        granted = {action: row["Resource"] for row in read_statements(entry) for action in row["Action"]}
        if entry.name != "prod-flows-policy" and "-users-" not in entry.name:  # no role of machines
            assert granted["logs:PutLogEvents"] == ["prod-logs-arn", "prod-logs-arn:*"], entry.name


@pytest.mark.parametrize("name", SLURM)
def test_every_log_of_the_bundles_is_collected(name: str) -> None:
    plan = sc.resolve(sc.load(SPECS[name]))
    texts = [file.text for target in ("boot", "slurm") for file in sc.render(plan, target).files.values()]
    named = {match for text in texts for match in re.findall(r"/var/log/[a-z/]+\.log", text)}
    assert len(named) >= 4 and named <= set(LOG_FILES)
    install, start = read_steps(record_spec(name))
    assert (install["action"], install["inputs"]["name"]) == ("aws:configurePackage", "AmazonCloudWatchAgent")
    script = "\n".join(start["inputs"]["runCommand"])
    assert "{{" not in script  # would be a parameter of the document
    shipped = json.loads(script.partition("END'\n")[2].partition("\nEND")[0])["logs"]["logs_collected"]["files"]
    assert {item["file_path"] for item in shipped["collect_list"]} == set(LOG_FILES)
    assert {item["log_group_name"] for item in shipped["collect_list"]} == {"prod-logs-name"}
    assert len({item["log_stream_name"] for item in shipped["collect_list"]}) == len(LOG_FILES)


def test_managed_kubernetes_has_only_log_groups_that_are_written() -> None:
    found = record_spec("10-aws-eks")
    assert not found.of_type(DOCUMENT)
    assert {entry.name for entry in found.of_type("aws:cloudwatch/logGroup:LogGroup")} == {
        "prod-control-plane",
        "prod-flows",
        "prod-storage-scratch-logs",
    }


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_agent_is_started_once_and_restarted_if_it_is_dead(tmp_path: Path) -> None:
    (_, start) = read_steps(record_spec("09-aws-slurm"))
    script = "\n".join(start["inputs"]["runCommand"]).replace(AGENT, str(tmp_path / "agent"))
    (tmp_path / "agent" / "etc").mkdir(parents=True)
    write_program(
        tmp_path / "agent" / "bin" / "amazon-cloudwatch-agent-ctl", f"echo $@ >>{tmp_path}/calls; touch {tmp_path}/runs"
    )
    write_program(tmp_path / "systemctl", f"test -e {tmp_path}/runs")

    def run() -> int:
        subprocess.run(["sh"], input=script, text=True, check=True, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
        return len((tmp_path / "calls").read_text().splitlines())

    assert [run(), run()] == [1, 1]
    (tmp_path / "runs").unlink()
    assert run() == 2
    assert (tmp_path / "calls").read_text().splitlines()[0].endswith(f"-s -c file:{tmp_path}/agent/etc/supercloud.json")


def test_the_start_script_passes_shellcheck(tmp_path: Path) -> None:
    (_, start) = read_steps(record_spec("09-aws-slurm"))
    file = tmp_path / "start.sh"
    file.write_text("\n".join(["#!/bin/sh", *start["inputs"]["runCommand"], ""]))
    done = subprocess.run([Path(sys.executable).with_name("shellcheck"), file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
