"""Placement of jobs by Kueue with the rendered bundle: units, domains, waiting, preemption, borrowing."""

from __future__ import annotations

from kube_world import World

H100 = {"type": "h100"}


def test_a_job_is_placed_in_one_unit_beside_running_jobs(cluster: World) -> None:
    first = cluster.submit(name="first", accelerators=H100 | {"count": 192})
    assert cluster.count_groups("su", cluster.wait_hosts(first)) in ({"compute-su1": 24}, {"compute-su2": 24})
    second = cluster.submit(name="second", parallelism={"tensor": 8, "data": 16}, accelerators=H100 | {"count": 128})
    (other,) = cluster.count_groups("su", cluster.wait_hosts(second))
    assert other not in cluster.count_groups("su", cluster.wait_hosts(first)), (
        "the first unit has 8 nodes left, 16 are needed"
    )


def test_tensor_groups_stay_in_their_scale_up_domain(cluster: World) -> None:
    """32 nodes in groups of 4, on two domains of 18: each takes a whole number of groups."""
    job = cluster.submit(
        name="slices", parallelism={"tensor": 16, "data": 8}, accelerators={"type": "gb200", "count": 128}
    )
    parts = cluster.count_groups("scale-up", cluster.wait_hosts(job))
    assert sorted(parts.values()) == [16, 16]


def test_a_job_that_does_not_fit_reports_the_reason_and_starts_later(cluster: World) -> None:
    fill = [
        cluster.submit(name=f"fill{number}", accelerators=H100 | {"count": 160}, tenant="vision") for number in range(2)
    ]
    for number in fill:
        cluster.wait_hosts(number)
    job = cluster.submit(name="near", accelerators=H100 | {"count": 128}, place={"near": "leaf"})
    why = "the nodes it needs are not free within one su"
    cluster.lab.wait_until(lambda: cluster.get_record(job).reason == why)
    row = cluster.get_row(job)
    assert (row["state"], row["reason"]) == ("QUEUED", why)
    cluster.run_supercloud("cancel", str(fill[0]))
    assert len(cluster.count_groups("su", cluster.wait_hosts(job))) == 1
    cluster.wait_state(job, "RUNNING")


def test_a_job_of_higher_priority_preempts_and_releases_nodes(cluster: World) -> None:
    low = cluster.submit(name="low", accelerators=H100 | {"count": 512}, priority="low")
    cluster.wait_state(low, "RUNNING")
    high = cluster.submit(name="high", accelerators=H100 | {"count": 128}, priority="high")
    cluster.wait_state(high, "RUNNING")
    put_back = cluster.wait_state(low, "QUEUED")
    assert put_back.attempt == 2
    assert put_back.reason.startswith("preempted by a job of higher priority, or by one whose quota it had borrowed")
    cluster.run_supercloud("cancel", str(high))
    assert cluster.wait_state(low, "RUNNING").attempt == 2


def test_borrowed_capacity_returns_to_its_owner(cluster: World) -> None:
    borrower = cluster.submit(name="borrower", accelerators=H100 | {"count": 512})
    cluster.wait_state(borrower, "RUNNING")
    lender = cluster.submit(name="lender", accelerators=H100 | {"count": 128}, tenant="vision")
    cluster.wait_state(lender, "RUNNING")
    assert cluster.wait_state(borrower, "QUEUED").attempt == 2


def test_a_job_over_the_quota_of_its_tenant_is_refused(cluster: World) -> None:
    text = cluster.run_supercloud(
        "submit",
        str(cluster.write_job(accelerators=H100 | {"count": 520})),
        "--on",
        str(cluster.spec),
        "--engine",
        "kubernetes",
        check=False,
    )
    assert "520 accelerators are 65 nodes, the pool has 64" in text


def test_a_dry_run_prints_the_objects_and_creates_none(cluster: World) -> None:
    text = cluster.run_supercloud(
        "submit",
        str(cluster.write_job(accelerators=H100 | {"count": 16})),
        "--on",
        str(cluster.spec),
        "--engine",
        "kubernetes",
        "--dry-run",
    )
    assert "kubectl --context=lab create --filename=-" in text and "kind: JobSet" in text
    assert "kueue.x-k8s.io/podset-preferred-topology: topology.supercloud.dev/su" in text
    assert not list(cluster.lab.api.iter_items("/apis/jobset.x-k8s.io/v1alpha2/jobsets"))


def test_a_file_system_is_mounted_and_other_paths_are_refused(cluster: World) -> None:
    job = cluster.submit(name="saved", command=["true"], checkpoint={"path": "/scratch/ckpt"})
    spec = cluster.get_object(job)["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert {"name": "fs-scratch", "mountPath": "/scratch"} in spec["containers"][0]["volumeMounts"]
    words = ("submit", str(cluster.write_job(checkpoint={"path": "/elsewhere"})), "--on", str(cluster.spec))
    assert "is not on a file system of the cluster" in cluster.run_supercloud(
        *words, "--engine", "kubernetes", check=False
    )
