"""A cloud in the lab: the rendered boot script configures all machines; power saving resizes groups for jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from answers import get_job, list_by_name, parse_records, read_topology, submit_batch, wait_job
from cloud_lab import CloudLab, archive, build_lab_plan
from installed import Slurm

from supercloud.primitives.bundle import Bundle

SPOT, ON_DEMAND = "train-spot", "train-on-demand"
HELD = "until [ -e /home/lab/go ]; do sleep 0.2; done"
TWO = ("--gpus-per-node=2", "-N2", "-o", "/home/lab/out-%j", "--wrap", "srun -l hostname; echo gpus $SLURM_JOB_GPUS")


@pytest.fixture(params=[pytest.param("22.05", marks=pytest.mark.extended), "26.05"], scope="module")
def slurm(request: pytest.FixtureRequest) -> Slurm:
    """Both releases."""
    found: Slurm = request.getfixturevalue("slurm_2205" if request.param == "22.05" else "slurm_new")
    return found


@pytest.fixture(scope="module")
def lab(slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudLab]:
    """A controller that has booted with its user-data, without instances."""
    version = "22.05" if slurm.release == (22, 5) else "26.05"
    with CloudLab(build_lab_plan(version), tmp_path_factory.mktemp("cloud") / "bundle", slurm.rootfs) as lab:
        lab.run(f"echo spine-1 >/lab/cloud/groups/{SPOT}/network")
        lab.boot_controller()
        yield lab


@pytest.fixture(autouse=True)
def quiet(lab: CloudLab) -> Iterator[None]:
    """Every test starts without jobs and instances, with all nodes powered down and groups with capacity."""
    yield
    lab.run("scancel -u lab; cd /lab/cloud/groups && rm -f */empty */refuses */refused */lame")
    lab.run("rm -f /var/spool/slurmctld/cloud/full/*")
    for name, state in lab.list_states("train-[0001-0004]").items():
        if state != "idle~":  # a node that is powered down would be powered down again
            lab.run(f"scontrol update NodeName={name} State=POWER_DOWN_FORCE", check=False)
    lab.wait_for("every instance gone", lambda: not list_instances(lab))
    lab.wait_for("every node off", lambda: set(lab.list_states("train-[0001-0004]").values()) == {"idle~"})
    # jobs are refused while a powered-down node is not in the tree: the scaler adds it in its next pass
    if can_update_topology(lab):
        everything = "train-[0001-0004]"
        lab.wait_for(
            "every node in the tree",
            lambda: {row["SwitchName"]: row["Nodes"] for row in read_topology(lab)}.get("off") == everything,
        )


def list_instances(lab: CloudLab) -> list[str]:
    return [*lab.list_instances(SPOT), *lab.list_instances(ON_DEMAND)]


def get_node(lab: CloudLab, name: str) -> dict[str, str]:
    return list_by_name(lab, f"node {name}", "NodeName")[name]


def can_update_topology(lab: CloudLab) -> bool:
    """Whether the release can update the topology while it runs."""
    return bool(lab.slurm.get("topology.yaml"))


def test_a_controller_boots(lab: CloudLab) -> None:
    """The bundle is loaded unchanged; Slurm has all node names without instances; a second start changes nothing."""
    for name in ("slurm.conf", "gres.conf"):
        assert lab.get(f"/etc/slurm/{name}") == lab.slurm[name]
    assert lab.list_states("train-[0001-0004]") == {f"train-000{number}": "idle~" for number in range(1, 5)}
    assert "NodeName=" not in lab.slurm["slurm.conf"]
    before = lab.run("cat /run/unit-slurmctld").stdout
    lab.boot_controller()
    assert lab.run("cat /run/unit-slurmctld").stdout == before
    # the controller filled the empty secrets, and accounting works with the password, which is in no other file
    assert len(lab.run("cat /lab/cloud/secrets/auth-key").stdout) > 1000
    password = lab.run("cat /lab/cloud/secrets/password").stdout
    assert f"StoragePass={password}\n" in lab.get("/etc/slurm/slurmdbd.conf")
    assert lab.run("grep -rl StoragePass= /opt/supercloud/slurm /lab/cloud/bucket", check=False).stdout == ""
    assert "research|lab" in lab.run("sacctmgr -n -P show assoc format=Account,User").stdout


def test_a_job_starts_nodes_and_idle_nodes_are_terminated(lab: CloudLab) -> None:
    """A pending job resumes nodes, the boot script joins them, the job runs there; only idle ones are terminated."""
    number = submit_batch(lab, *TWO[:-1], f"{TWO[-1]}; {HELD}")
    lab.wait_for("an instance", lambda: lab.list_instances(SPOT))
    wait_job(lab, number, "RUNNING")
    # a node reports its location after it has joined
    text = "Topology" if can_update_topology(lab) else "ActiveFeatures"
    for name in ("train-0001", "train-0002"):
        lab.wait_for("its location", lambda name=name: "spine-1" in get_node(lab, name)[text])
    lab.wait_for("the job's steps", lambda: "gpus" in lab.run(f"cat /home/lab/out-{number}", check=False).stdout)
    output = lab.get(f"/home/lab/out-{number}")
    assert {"0: train-0001", "1: train-0002"} <= set(output.splitlines()) and "gpus 0,1" in output
    found = get_node(lab, "train-0001")
    assert {"CLOUD", "DYNAMIC_NORM"} <= set(found["State"].split("+"))
    assert found["NodeAddr"].startswith("10.201.0.") and found["Gres"].startswith("gpu:h100:2")
    features = "train,h100,p5.48xlarge"
    if not can_update_topology(lab):
        assert found["ActiveFeatures"] == f"{features},net-spine-1,net-rack-1,zone-lab-1a"
    else:
        assert found["ActiveFeatures"] == features and found["Topology"] == "network:root:spine-1:rack-1"
        rows = {row["SwitchName"]: row for row in read_topology(lab)}
        assert "train-0001" in lab.run(["scontrol", "show", "hostnames", rows["spine-1"]["Nodes"]]).stdout
        assert rows["off"]["Nodes"] == "train-[0003-0004]" and rows["root"]["Nodes"] == "train-[0001-0004]"
    # one node stays busy: only the other one is terminated
    busy = submit_batch(lab, "--gpus-per-node=2", "-w", "train-0001", "--wrap", "sleep 600")
    lab.run("touch /home/lab/go")
    wait_job(lab, number, "COMPLETED")
    wait_job(lab, busy, "RUNNING")
    kept = lab.get("/var/spool/slurmctld/cloud/nodes/train-0001").split()[1]
    lab.wait_for("one instance", lambda: lab.list_instances(SPOT) == [kept])
    assert lab.get_size(SPOT) == 1 and get_job(lab, busy)["JobState"] == "RUNNING"
    lab.wait_for("train-0002 off", lambda: lab.list_states("train-0002") == {"train-0002": "idle~"})
    assert get_node(lab, "train-0002")["ActiveFeatures"] == features


def test_the_minimum_of_a_pool_is_never_powered_down(lab: CloudLab) -> None:
    """The minimum of idle nodes keeps running in releases that support it; with others the scaler logs a warning."""
    settings = "/opt/supercloud/settings/scale.json"
    before = lab.get(settings)
    changed = json.loads(before)
    changed["groups"][0]["min_instances"] = 1
    assert changed["groups"][0]["key"] == SPOT
    try:
        lab.put(settings, json.dumps(changed))
        if not can_update_topology(lab):
            lab.wait_for("a warning is logged", lambda: "powers down train-0001 too" in lab.read_scaler_log())
            return
        lab.wait_for("the exception is set", lambda: "never powered down: train-0001" in lab.read_scaler_log())
        lab.run("scontrol update NodeName=train-[0001-0002] State=POWER_UP")
        lab.wait_for("both", lambda: set(lab.list_states("train-[0001-0002]").values()) == {"idle"})
        lab.wait_for("the other is off", lambda: lab.list_states("train-0002") == {"train-0002": "idle~"})
        lab.run("sleep 20")  # longer than SuspendTime
        lab.wait_nodes("train-0001", 1)
        assert lab.get_size(SPOT) == 1
    finally:
        lab.put(settings, before)
    lab.wait_for("no node is kept", lambda: "never powered down: none" in lab.read_scaler_log())


def test_capacity_is_requested_in_order(lab: CloudLab) -> None:
    """If a group refuses the size, or accepts it without starting instances, the next group is used."""
    lab.run(f"touch /lab/cloud/groups/{SPOT}/refuses")
    first = submit_batch(lab, "--gpus-per-node=2", "-N1", "--wrap", "sleep 600")
    lab.wait_for("the second group's", lambda: len(lab.list_instances(ON_DEMAND)) == 1)
    assert not lab.list_instances(SPOT)
    assert f"{SPOT}: no capacity: nothing left of this kind" in lab.read_scaler_log()
    lab.run(f"cd /lab/cloud/groups/{SPOT} && rm refuses && touch empty; rm -f /var/spool/slurmctld/cloud/full/*")
    second = submit_batch(lab, "--gpus-per-node=2", "-N1", "--wrap", "sleep 600")
    lab.wait_for("the second group's", lambda: len(lab.list_instances(ON_DEMAND)) == 2)
    assert lab.get_size(SPOT) == 0
    for number in (first, second):
        wait_job(lab, number, "RUNNING")
    assert f"{SPOT}: no capacity: no capacity of this kind in lab-1a" in lab.read_scaler_log()


def test_the_job_of_a_lost_instance_runs_again(lab: CloudLab) -> None:
    """A node whose instance the cloud terminated goes down with a reason, and its job runs again on a new instance."""
    number = submit_batch(lab, "--requeue", "--gpus-per-node=2", "-N1", "--wrap", "sleep 600")
    wait_job(lab, number, "RUNNING")
    (victim,) = lab.list_instances(SPOT)
    lab.run(f"touch /lab/cloud/groups/{SPOT}/instances/{victim}/end; echo 0 >/lab/cloud/groups/{SPOT}/size")
    lab.wait_for("it is noticed", lambda: f"instance {victim} ended" in lab.read_scaler_log())
    wait_job(lab, number, "PENDING")
    lab.run(f"scontrol update JobId={number} StartTime=now")
    wait_job(lab, number, "RUNNING")
    assert get_job(lab, number)["Restarts"] == "1" and victim not in lab.list_instances(SPOT)


def test_jobs_are_accepted_while_nodes_come_and_go(lab: CloudLab) -> None:
    """A job for all nodes is accepted at any time, from the first request of nodes to the end of the last node."""
    everything = ("--gpus-per-node=2", "-N4")
    number = submit_batch(lab, *everything, "--wrap", "sleep 300")

    def check_accepted_until(what: str, happened: Callable[[], object]) -> None:
        def submit_and_look() -> bool:
            # raises if the job is refused
            later = submit_batch(lab, *everything, "--begin=now+1hour", "--wrap", "true")
            lab.run(["scancel", later])  # thousands of jobs would keep the controller busy
            return bool(happened())

        lab.wait_for(what, submit_and_look, interval=0.5)

    check_accepted_until("the job runs", lambda: get_job(lab, number)["JobState"] == "RUNNING")
    lab.run(["scancel", number])
    check_accepted_until("all instances are terminated", lambda: not list_instances(lab))
    check_accepted_until("every node off", lambda: set(lab.list_states("train-[0001-0004]").values()) == {"idle~"})
    # and a location that was lost, as after a change of the node's features, is restored
    if can_update_topology(lab):
        lab.run("scontrol update NodeName=train-0002 Topology=")
        text = "train-0002: restored to network:root:off"
        lab.wait_for("its location is restored", lambda: text in lab.read_scaler_log())


def test_controller_and_scaler_continue_after_a_restart(lab: CloudLab) -> None:
    """Slurmctld and scaler end between the request of nodes and their start; both start again, and the job runs."""
    number = submit_batch(lab, *TWO)
    lab.wait_for("an instance", lambda: lab.list_instances(SPOT))
    lab.run("kill -9 $(cat /run/unit-supercloud-scaler)")
    lab.stop_controller()
    lab.boot_controller()
    wait_job(lab, number, "COMPLETED")
    assert len(list_instances(lab)) <= 2  # nothing was requested twice


def test_spare_instances_are_adopted(lab: CloudLab) -> None:
    """Instances that the scaler did not request (the initial size of a group, a replacement) become nodes."""
    lab.run(f"echo 2 >/lab/cloud/groups/{ON_DEMAND}/size")
    # not at the same time: the first may be stopped after the idle time before the second starts
    seen: set[str] = set()

    def are_idle() -> bool:
        seen.update(name for name, state in lab.list_states("train-[0001-0004]").items() if state == "idle")
        return len(seen) >= 2

    lab.wait_for("both become idle nodes", are_idle)
    assert "powered up for instance" in lab.read_scaler_log()


def test_an_instance_that_does_not_join_is_terminated(lab: CloudLab) -> None:
    """An instance that never joins: node down with a reason, instance terminated, size reduced, node usable again."""
    lab.run(f"touch /lab/cloud/groups/{SPOT}/lame")
    number = submit_batch(lab, "--gpus-per-node=2", "-N1", "--wrap", "true")
    lab.wait_for("an instance", lambda: lab.list_instances(SPOT))
    name = get_job(lab, number)["NodeList"]
    lab.wait_for("node down", lambda: "DOWN" in get_node(lab, name)["State"])
    lab.wait_for("a reason", lambda: "did not join" in lab.run(f"scontrol show node {name}").stdout)
    lab.run("scancel -u lab")
    lab.wait_for("capacity returned", lambda: not list_instances(lab) and lab.get_size(SPOT) == 0)
    lab.run(f"touch -d '-1 hour' /var/spool/slurmctld/cloud/failed/{name}")
    lab.wait_for("the node is usable again", lambda: lab.list_states(name) == {name: "idle~"})


def boot_by_hand(lab: CloudLab, environment: str = "", key: str | None = "") -> tuple[int, str]:
    """Boot an instance that belongs to no group; return exit code and output.

    The controller does not send it the key, so it has the key already: the right one, another one (``key``), or none
    (None).
    """
    host = "i-hand"
    lab.run(f"grep -q {host} /lab/hosts || echo 10.201.1.1 {host} >>/lab/hosts; /lab/bin/host-up.sh {host}")
    lab.put("/lab/cloud/metadata/10.201.1.1", "id=i-hand\ntype=lab\nzone=lab-1a\naddress=10.201.1.1\n")
    etc = f"/lab/node/{host}/etc"
    lab.run(f"rm -rf /lab/node/{host}; mkdir -p {etc}/munge {etc}/supercloud")
    if key is not None:
        given = f"echo {key} | base64 -d" if key else "cat /etc/munge/munge.key"
        lab.run(f"{given} >{etc}/munge/munge.key; chown -R munge: {etc}/munge; chmod 400 {etc}/munge/munge.key")
        lab.run(f"echo {host} >{etc}/supercloud/key-of")
    command = f"export {environment} LAB=1; /lab/bin/cloud-instance.sh {host} bucket/user-data/{SPOT}.sh"
    done = lab.run_on(host, command, check=False, timeout=120)
    lab.run(f"kill -9 $(ip netns pids {host})", check=False)
    return done.returncode, done.stdout + done.stderr


def test_damaged_or_missing_inputs_end_the_boot(lab: CloudLab) -> None:
    """A changed script, a damaged bundle, a missing secret or device: exit code and FAILED with step and reason."""
    evil = Bundle({**lab.boot.files, "boot.sh": "#!/bin/bash\ntouch /lab/log/evil\n"})
    lab.publish("boot", evil)
    code, output = boot_by_hand(lab)
    assert code == 1 and "FAILED start: boot/boot.tar.gz is not the version with the checksum" in output
    assert lab.run("test -e /lab/log/evil", check=False).returncode == 1
    lab.publish("boot", lab.boot)

    changed = Bundle({**lab.slurm.files, "slurm.conf": lab.slurm["slurm.conf"] + "#\n"})
    lab.put("/lab/cloud/bucket/slurm/slurm.tar.gz", archive(changed))
    code, output = boot_by_hand(lab)
    assert code == 1 and "FAILED bundle: files of slurm/slurm.tar.gz do not match its SHA256SUMS" in output
    lab.publish("slurm", lab.slurm)

    code, output = boot_by_hand(lab, key=None)
    assert code == 1 and "FAILED auth: the controller did not send the key: no instance" in output

    lab.run("mv /dev/nvidia1 /dev/away")
    code, output = boot_by_hand(lab)
    lab.run("mv /dev/away /dev/nvidia1")
    assert code == 1 and "FAILED devices: missing devices of 2 accelerators: /dev/nvidia1" in output


def test_a_machine_with_a_wrong_key_does_not_join(lab: CloudLab) -> None:
    """A machine with a wrong key gets no node name."""
    code, output = boot_by_hand(lab, "BOOT_WAIT=8", key="QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY3ODkwQUJDREVG")
    assert code == 1 and "FAILED join: the controller assigned no node name" in output


ASK = "curl -s -m 20 -o /tmp/answer -w '%{http_code}' --data-binary @/tmp/certificate"
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout /dev/null -out /tmp/certificate 2>/dev/null"
)


def test_users_of_a_node_get_neither_the_key_nor_the_permissions_of_the_machine(lab: CloudLab) -> None:
    """The node has the key although it cannot read the secret; users without root on it cannot get the key."""
    number = submit_batch(lab, "--gpus-per-node=2", "-N1", "--wrap", "sleep 600")
    wait_job(lab, number, "RUNNING")
    (instance,) = lab.list_instances(SPOT)
    own = f"/lab/node/{instance}/etc"
    assert lab.run(f"cmp {own}/munge/munge.key /etc/munge/munge.key", check=False).returncode == 0
    assert "secret_auth" not in lab.boot[f"user-data/{SPOT}.sh"] and "SECRET_AUTH=''" in lab.get(
        f"{own}/supercloud/env"
    )
    assert instance in lab.get("/var/lib/supercloud/keys-given").split()
    url = f"http://{lab.plan.scheduler.controllers[0].address}:329"
    as_user = "setpriv --reuid=2000 --regid=2000 --clear-groups --no-new-privs"

    def run_on_node(command: str) -> str:
        return lab.run_on(instance, f"{CERTIFICATE}; chmod 644 /tmp/certificate; {command}", check=False).stdout

    # a user cannot use a port of root, and the controller closes connections from other ports
    assert run_on_node(f"{as_user} {ASK} --local-port 600-1023 {url}/key") == "000"
    assert run_on_node(f"{as_user} {ASK} {url}/key") == "000"
    # root of a node with the key, of a node that confirms it again, and of a machine outside the cluster
    again = run_on_node(f"{ASK} --local-port 600-1023 {url}/key; echo; cat /tmp/answer")
    assert again.startswith("409") and f"{instance} has already confirmed" in again
    assert run_on_node(f"{ASK} --local-port 600-1023 {url}/confirm") == "200"
    stranger = lab.run(f"{CERTIFICATE}; {ASK} --local-port 600-1023 {url}/key; echo; cat /tmp/answer").stdout
    assert stranger.startswith("403") and "no instance of this cluster has the address" in stranger

    # the metadata service: on the node for root only, on the controller also for the user of the scaler
    lab.run("ip addr replace 169.254.169.254/32 dev lo")
    lab.spawn("metadata", ["python3", "-m", "http.server", "80", "--bind", "169.254.169.254"])
    get = "curl -s -m 20 -o /dev/null -w '%{http_code}' http://169.254.169.254/"
    lab.wait_for("the metadata service", lambda: lab.run(get, check=False).stdout == "200")
    assert run_on_node(get) == "200" and run_on_node(f"{as_user} {get}") == "000"
    assert run_on_node(f"setpriv --reuid=slurm --regid=slurm --clear-groups {get}") == "000"
    assert lab.run(f"setpriv --reuid=slurm --regid=slurm --clear-groups {get}", check=False).stdout == "200"
    assert lab.run(get, user="lab", check=False).stdout == "000"


def test_the_log_has_every_step(lab: CloudLab) -> None:
    """Each step of a boot logs its start and end."""
    declared = lab.run("sed -n 's/^controller) *steps=(\\(.*\\)).*/\\1/p' /opt/supercloud/boot/boot.sh").stdout
    steps = declared.split()
    assert {"identity", "mounts", "control", "scaler"} <= set(steps), declared
    output = lab.run("cat /var/log/supercloud/boot.log").stdout
    ends = [line.split()[1] for line in output.splitlines() if line.endswith(": finished")]
    assert [f"{step}:" for step in steps] == ends[: len(steps)]
    assert not parse_records(lab.run("scontrol -o show reservation").stdout)
