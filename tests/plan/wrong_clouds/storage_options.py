"""Options of a cloud's storage services: deployments, rules between options, fabrics, installation."""

from __future__ import annotations

from typing import Any

from plan.clouds import EFS, KUBERNETES, NFS, TWO, WEKA, build_lustre

CASES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "cloud-storage-deployment",
        "error",
        "storage[0].deployment",
        "throughput and cache",
        {"storage": [build_lustre(deployment="PERSISTENT_2_INTELLIGENT_TIERING")]},
    ),
    (
        "cloud-storage-deployment",
        "error",
        "storage[0].deployment",
        "PERSISTENT_9",
        {"storage": [build_lustre(deployment="PERSISTENT_9")]},
    ),
    (
        "cloud-storage-option",
        "error",
        "storage[0].options.provisioned-mibps",
        "5000",
        {"storage": [EFS | {"options": {"throughput": "provisioned", "provisioned-mibps": 5000}}]},
    ),
    (
        "cloud-storage-option",
        "error",
        "storage[0].options.compresion",
        "compresion",
        {"storage": [build_lustre(options={"compresion": "LZ4"})]},
    ),
    (
        "cloud-storage-option",
        "error",
        "storage[0].options.compression",
        "GZIP",
        {"storage": [build_lustre(options={"compression": "GZIP"})]},
    ),
    (
        "cloud-storage-option",
        "error",
        "storage[0].options.version",
        "2.10",
        {"storage": [build_lustre(options={"version": "2.10"})]},
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.drive-cache",
        "only HDD storage",
        {"storage": [build_lustre(options={"drive-cache": "READ"})]},
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.version",
        "require Lustre 2.12",
        {
            "storage": [
                {
                    "name": "s",
                    "kind": "lustre",
                    "capacity": "2400 GiB",
                    "deployment": "PERSISTENT_1",
                    "mount": "/fsx",
                    "options": {"version": "2.10"},
                    "import_from": "s3://corpus",
                }
            ]
        },
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.metadata-iops",
        "is not set",
        {"storage": [build_lustre(options={"metadata": "USER_PROVISIONED"})]},
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.metadata-iops",
        "does not support metadata-iops",
        {"storage": [build_lustre(options={"metadata-iops": 6000})]},
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.version",
        "2.12",
        {"storage": [build_lustre(options={"version": "2.12", "efa": True})]},
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.metadata",
        "only PERSISTENT_2",
        {
            "storage": [
                {
                    "name": "s",
                    "kind": "lustre",
                    "capacity": "2400 GiB",
                    "deployment": "SCRATCH_2",
                    "mount": "/fsx",
                    "options": {"metadata": "AUTOMATIC"},
                }
            ]
        },
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.performance",
        "ONE_ZONE",
        {"storage": [EFS | {"deployment": "ONE_ZONE", "options": {"performance": "maxIO", "throughput": "bursting"}}]},
    ),
    (
        "cloud-storage-rule",
        "error",
        "storage[0].options.provisioned-mibps",
        "is '9'",
        {"storage": [EFS | {"options": {"throughput": "provisioned", "provisioned-mibps": "9"}}]},
    ),
    (
        "cloud-storage-fabric",
        "error",
        "storage[0].fabric",
        "19200 GiB",
        {"storage": [build_lustre(capacity="4800 GiB", fabric="compute")]},
    ),
    (
        "cloud-storage-fabric",
        "warning",
        "storage[0].fabric",
        "not over a fabric",
        {"storage": [NFS | {"fabric": "compute"}]},
    ),
    (
        "cloud-storage-fabric",
        "error",
        "storage[0].options.efa",
        "19200 GiB",
        {"storage": [build_lustre(capacity="4800 GiB", options={"efa": True})]},
    ),
    (
        "cloud-storage-fabric",
        "error",
        "storage[0].options.efa",
        "SCRATCH_2",
        {
            "storage": [
                {
                    "name": "s",
                    "kind": "lustre",
                    "capacity": "2400 GiB",
                    "deployment": "SCRATCH_2",
                    "mount": "/fsx",
                    "options": {"efa": True},
                }
            ]
        },
    ),
    (
        "cloud-storage-fabric",
        "error",
        "storage[0].options.efa",
        "multiples of 9600 GiB",
        {"storage": [build_lustre(capacity="12000 GiB", throughput_per_tib="500 MB/s", options={"efa": True})]},
    ),
    (
        "cloud-storage-fabric",
        "note",
        "storage[0].capacity",
        "multiples of 19200 GiB",
        {"storage": [build_lustre(capacity="21600 GiB")]},
    ),
    ("cloud-storage-install", "error", "storage[0].options.install", "nothing installs", {"storage": [WEKA]}),
    (
        "cloud-storage-install",
        "error",
        "storage[0].options.install",
        "not a valid location of a program",
        {"storage": [WEKA | {"options": {"install": "weka.sh"}}]},
    ),
    *(
        (
            "cloud-storage-install",
            "error",
            "storage[0].options.install",
            source,
            {"storage": [WEKA | {"options": {"install": source}}]},
        )
        for source in ("s3://*/x", "s3://bucket/*", "s3://bucket/a?c", "s3://bucket/${aws:username}", "s3://b?cket/x")
    ),
    *(
        (
            "cloud-storage-digest",
            "error",
            "storage[0].options.install-sha256",
            words,
            {"storage": [WEKA | {"options": {"install": source, **digest}}]},
        )
        for source, digest, words in (
            ("https://example.com/weka.sh", {}, "run https://example.com/weka.sh as root"),
            ("https://example.com/weka.sh", {"install-sha256": "abc"}, "'abc' is not a SHA-256 digest"),
            ("s3://bucket/weka.sh", {"install-sha256": "g" * 64}, "is not a SHA-256 digest"),
        )
    ),
    *(
        (
            "cloud-storage-install",
            "error",
            "storage[0].options.install-token",
            token,
            {"storage": [WEKA | {"options": {"install": "s3://bucket/weka.sh", "install-token": token}}]},
        )
        for token in (
            "*",
            "weka-*",
            "weka?",
            "${aws:username}",
            "arn:aws:secretsmanager:*:*:secret:*",
            "arn:aws:secretsmanager:us-east-1:123456789012:secret:*",
            "arn:aws:ssm:us-east-1:1:parameter/x",
        )
    ),
    (
        "cloud-storage-install",
        "error",
        "storage[0]",
        "a Kubernetes cluster has none",
        {"scheduler": KUBERNETES, "site": TWO, "storage": [WEKA]},
    ),
]
