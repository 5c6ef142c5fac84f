"""The stand-in provider as a program: it acts as a plugin of the engine, and ends when required."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from offline import launchers, wire
from offline.cloud import Cloud
from offline.faults import Fault, Faults
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

pytestmark = pytest.mark.slow

VPC = "urn:pulumi:dev::toy::aws:ec2/vpc:Vpc::v"
SUBNET = "urn:pulumi:dev::toy::aws:ec2/subnet:Subnet::s"


class Plugin:
    """A running plugin, as the engine has it: its standard input is ours."""

    def __init__(self, folder: Path):
        script = launchers.write_provider(folder, "aws", folder)
        self.process = subprocess.Popen([script, "127.0.0.1:1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout and self.process.stdin
        port = int(self.process.stdout.readline())
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.calls: Any = provider_pb2_grpc.ResourceProviderStub(self.channel)  # type: ignore[no-untyped-call]
        self.cloud, self.faults = Cloud(folder / "cloud.json"), Faults(folder / "faults.json")

    def close(self) -> None:
        """End it in any state."""
        self.channel.close()
        with self.process:  # closes its pipes and waits
            self.process.kill()


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Plugin]:
    running = Plugin(tmp_path)
    yield running
    running.close()


def create(plugin: Plugin, urn: str, **inputs: Any) -> Any:
    return plugin.calls.Create(provider_pb2.CreateRequest(urn=urn, properties=wire.build_struct(inputs)))


def test_a_resource_is_created_read_updated_and_deleted(plugin: Plugin) -> None:
    vpc = create(plugin, VPC, cidrBlock="10.0.0.0/16")
    assert wire.read(vpc.properties)["arn"] == f"{vpc.id}-arn"
    read = plugin.calls.Read(provider_pb2.ReadRequest(id=vpc.id, urn=VPC))
    assert wire.read(read.inputs) == {"cidrBlock": "10.0.0.0/16"}
    subnet = create(plugin, SUBNET, vpcId=vpc.id)
    with pytest.raises(grpc.RpcError, match="DependencyViolation.*in use by s-"):
        plugin.calls.Delete(provider_pb2.DeleteRequest(id=vpc.id, urn=VPC))
    for item, urn in ((subnet, SUBNET), (vpc, VPC)):
        plugin.calls.Delete(provider_pb2.DeleteRequest(id=item.id, urn=urn))
    assert plugin.cloud.objects() == {}
    assert plugin.calls.Read(provider_pb2.ReadRequest(id=vpc.id, urn=VPC)).id == ""


def test_a_preview_creates_nothing_and_an_update_rejects_unknown_inputs(plugin: Plugin) -> None:
    asked = provider_pb2.CreateRequest(urn=SUBNET, properties=wire.build_struct({"vpcId": wire.UNKNOWN}), preview=True)
    assert wire.read(plugin.calls.Create(asked).properties)["arn"] == wire.UNKNOWN
    with pytest.raises(grpc.RpcError, match="an input is unknown"):
        create(plugin, SUBNET, vpcId=wire.UNKNOWN)
    assert plugin.cloud.objects() == {}


def test_automatic_names_are_stable(plugin: Plugin) -> None:
    bucket = "urn:pulumi:dev::toy::aws:s3/bucket:Bucket::data"

    def propose_name(news: dict[str, Any], olds: dict[str, Any], seed: bytes) -> Any:
        asked = provider_pb2.CheckRequest(
            urn=bucket, news=wire.build_struct(news), olds=wire.build_struct(olds), randomSeed=seed
        )
        return wire.read(plugin.calls.Check(asked).inputs).get("bucket")

    first = propose_name({}, {}, b"a")
    assert first.startswith("data-") and first == propose_name({}, {}, b"a") != propose_name({}, {}, b"b")
    assert propose_name({}, {"bucket": first}, b"b") == first
    assert propose_name({"bucket": "mine"}, {"bucket": first}, b"a") == "mine"
    assert propose_name({"bucketPrefix": "mine"}, {}, b"a") is None


def test_a_difference_lists_replacing_inputs(plugin: Plugin) -> None:
    def diff(**changes: Any) -> Any:
        old = wire.build_struct({"cidrBlock": "10.0.0.0/16"})
        new = wire.build_struct({"cidrBlock": "10.0.0.0/16", **changes})
        return plugin.calls.Diff(provider_pb2.DiffRequest(urn=VPC, old_inputs=old, news=new))

    assert diff().changes == provider_pb2.DiffResponse.DIFF_NONE
    assert (list(diff(tags={}).diffs), list(diff(tags={}).replaces)) == (["tags"], [])
    assert list(diff(cidrBlock="10.1.0.0/16").replaces) == ["cidrBlock"]


def test_faults_are_counted_across_processes(plugin: Plugin, tmp_path: Path) -> None:
    plugin.faults.plan(Fault("create", "Vpc", nth=2, times=1, message="none left", code="RESOURCE_EXHAUSTED"))
    create(plugin, VPC, cidrBlock="10.0.0.0/16")
    other = Plugin(tmp_path)
    try:
        with pytest.raises(grpc.RpcError, match="none left") as refused:
            create(other, VPC, cidrBlock="10.0.0.0/16")
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        create(plugin, VPC, cidrBlock="10.0.0.0/16")
    finally:
        other.close()
    assert len(plugin.cloud.objects()) == 2


def test_lookups_are_answered_from_the_table(plugin: Plugin, tmp_path: Path) -> None:
    asked = provider_pb2.InvokeRequest(tok="aws:ec2/getAmi:getAmi")
    with pytest.raises(grpc.RpcError, match="no canned answer for aws:ec2/getAmi:getAmi"):
        plugin.calls.Invoke(asked)
    (tmp_path / "invokes.json").write_text(json.dumps({asked.tok: {"id": "ami-1"}}))
    assert wire.read(getattr(plugin.calls.Invoke(asked), "return")) == {"id": "ami-1"}


def test_an_interrupt_ends_the_plugin_immediately(plugin: Plugin) -> None:
    plugin.process.send_signal(signal.SIGINT)
    assert plugin.process.wait(timeout=60) == -signal.SIGINT, "at once: the engine gives all plugins five seconds"


def test_the_plugin_ends_with_its_engine_after_its_calls(plugin: Plugin, tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    plugin.faults.plan(Fault("create", "Vpc", hold=str(go_on)))
    waiting = threading.Thread(target=create, args=(plugin, VPC), kwargs={"cidrBlock": "10.0.0.0/16"})
    waiting.start()
    while not plugin.faults.count_strikes():
        time.sleep(0.01)  # a spin would take the processor from what is waited for
    assert plugin.process.stdin
    plugin.process.stdin.close()
    assert plugin.process.poll() is None, "the cloud is still at work"
    go_on.touch()
    waiting.join(timeout=60)
    assert plugin.process.wait(timeout=60) == 0
    assert len(plugin.cloud.objects()) == 1
