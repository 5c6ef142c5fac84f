"""Storage of a cloud: kinds, sizes, throughput, mount points, buckets, zones, servers."""

from __future__ import annotations

from typing import Any

from plan.clouds import NFS, TWO, WEKA, build_existing_network, build_lustre, build_pool

CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "cloud-existing-storage",
        "error",
        "storage[0].id",
        "'scratch' is not an identifier of fsx-lustre",
        {"storage": [build_lustre(id="scratch")]},
    ),
    (
        "cloud-existing-storage",
        "error",
        "storage[0].id",
        "existing ones of weka-on-ec2 cannot be used",
        {"storage": [WEKA | {"id": "fs-0a1b2c3d4e5f60718"}]},
    ),
    (
        "cloud-existing-storage",
        "error",
        "storage[0].options.mount-name",
        "what machines mount from fs-0a1b2c3d4e5f60718 is not set",
        {"storage": [build_lustre(id="fs-0a1b2c3d4e5f60718")]},
    ),
    (
        "cloud-existing-storage",
        "warning",
        "storage[0].id",
        "is in another network than the machines",
        {"storage": [build_lustre(id="fs-0a1b2c3d4e5f60718", options={"mount-name": "ab12cdef"})]},
    ),
    (
        "cloud-identifier-region",
        "error",
        "storage[0].options.install-token",
        "is in eu-west-1, the cluster in us-east-1",
        {
            "storage": [
                WEKA
                | {
                    "options": {
                        "install": "s3://bucket/weka.sh",
                        "install-token": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:weka-AbCdEf",
                    }
                }
            ]
        },
    ),
    (
        "cloud-storage-routes",
        "warning",
        "storage[0].deployment",
        "main route table",
        {
            "storage": [NFS | {"deployment": "MULTI_AZ_1"}],
            "network": build_existing_network("us-east-1a", "us-east-1b"),
        },
    ),
    (
        "cloud-mount-object",
        "warning",
        "storage[0].mount",
        "/data",
        {"storage": [{"name": "data", "kind": "object", "mount": "/data"}]},
    ),
    (
        "storage-mount-reserved",
        "error",
        "storage[0].mount",
        "/var/lib",
        {"storage": [build_lustre(mount="/var/lib/data")]},
    ),
    (
        "storage-mount-reserved",
        "error",
        "storage[0].mount",
        "/opt/slurm",
        {"storage": [build_lustre(mount="/opt/slurm/")]},
    ),
    (
        "cloud-bucket-name",
        "error",
        "storage[0].import_from",
        "gs://corpus",
        {"storage": [build_lustre(import_from="gs://corpus/x")]},
    ),
    (
        "cloud-bucket-name",
        "error",
        "storage[0].options.bucket",
        "My_Bucket",
        {"storage": [{"name": "data", "kind": "object", "options": {"bucket": "My_Bucket"}}]},
    ),
    (
        "cloud-bucket-name",
        "error",
        "storage[0].import_from",
        "10.0.0.1",
        {"storage": [build_lustre(import_from="s3://10.0.0.1/x")]},
    ),
    (
        "cloud-bucket-name",
        "error",
        "storage[0].import_from",
        "corpus",
        {"storage": [build_lustre(import_from="corpus")]},
    ),
    (
        "cloud-bucket-name",
        "error",
        "storage[0].import_from",
        "fsx-openzfs",
        {"storage": [NFS | {"import_from": "s3://corpus"}]},
    ),
    (
        "cloud-storage-tenants",
        "warning",
        "storage[0].import_from",
        "everyone may read them",
        {
            "storage": [build_lustre(import_from="s3://corpus")],
            "tenants": [{"name": "llm", "share": 1}, {"name": "vision", "share": 1}],
        },
    ),
    (
        "cloud-storage-servers",
        "error",
        "storage[0].servers.machine",
        "m6i.8xlarge",
        {"storage": [WEKA | {"servers": {"machine": "m6i.8xlarge"}}]},
    ),
    (
        "cloud-storage-servers",
        "error",
        "storage[0].servers.count",
        "3 servers",
        {"storage": [WEKA | {"servers": {"machine": "i3en.24xlarge", "count": 3}}]},
    ),
    (
        "cloud-storage-size",
        "warning",
        "storage[0].capacity",
        "50400 GiB",
        {"storage": [build_lustre(capacity="48 TiB")]},
    ),
    (
        "cloud-storage-size",
        "error",
        "storage[0]",
        "no size is set",
        {"storage": [{"name": "s", "kind": "lustre", "mount": "/fsx"}]},
    ),
    (
        "cloud-storage-size",
        "error",
        "storage[0].capacity",
        "over the maximum",
        {"storage": [NFS | {"capacity": "1 PiB"}]},
    ),
    (
        "cloud-storage-size",
        "warning",
        "storage[0].capacity",
        "6000 GiB",
        {
            "storage": [
                build_lustre(
                    capacity="1 TiB",
                    deployment="PERSISTENT_1_HDD",
                    throughput_per_tib="12 MB/s",
                    options={"version": "2.12"},
                )
            ]
        },
    ),
    (
        "cloud-storage-throughput",
        "error",
        "storage[0].throughput_per_tib",
        "300 MB/s",
        {"storage": [build_lustre(throughput_per_tib="300 MB/s")]},
    ),
    (
        "cloud-storage-throughput",
        "error",
        "storage[0].throughput",
        "20 GB/s",
        {"storage": [NFS | {"throughput": {"read": "20 GB/s"}}]},
    ),
    (
        "cloud-storage-throughput",
        "note",
        "storage[0].throughput",
        "320 MB/s",
        {"storage": [NFS | {"throughput": {"read": "200 MB/s"}}]},
    ),
    (
        "cloud-storage-kind",
        "error",
        "storage[0].kind",
        "Storage Scale",
        {"storage": [{"name": "s", "kind": "storage-scale", "mount": "/gpfs"}]},
    ),
    ("cloud-storage-kind", "error", "storage[0].product", "efs", {"storage": [build_lustre(product="efs")]}),
    (
        "cloud-mount-nested",
        "error",
        "storage[1].mount",
        "/fsx",
        {"storage": [build_lustre(), NFS | {"mount": "/fsx/home"}]},
    ),
    (
        "cloud-mount-local",
        "error",
        "pools[0].local",
        "storage[0]",
        {"storage": [build_lustre()], "pools": [build_pool(local="/fsx/local")]},
    ),
    (
        "cloud-mount-local",
        "warning",
        "pools[0].local",
        "m6i.8xlarge",
        {"pools": [build_pool(machine="m6i.8xlarge", fabrics=[], local="/scratch")], "fabrics": []},
    ),
    (
        "cloud-storage-zone",
        "warning",
        "storage[0]",
        "us-east-1b",
        {
            "site": TWO,
            "storage": [build_lustre()],
            "pools": [build_pool(), {"name": "cpu", "machine": "m6i.large", "nodes": 1}],
        },
    ),
    (
        "cloud-storage-shared",
        "warning",
        "storage[0]",
        "200 nodes",
        {"storage": [NFS], "pools": [build_pool(nodes=200)]},
    ),
]
