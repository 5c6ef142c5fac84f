"""What a spec names and the emulated AWS does not have: ``pulumi preview`` says it, and creates nothing."""

from __future__ import annotations

from collections.abc import Callable

import yaml
from emulator import Emulator
from inventory import has_operation, list_left
from real.pulumi.engine import Engine

Start = Callable[..., Engine]

X86, ARM = "ami-12c6146b", "ami-0abcdef1234567890"
"""An image of the emulator, and one that it does not have."""


def build_spec(image: object) -> str:
    weka = {"install": "s3://corp-software/weka.sh", "install-token": "weka-token"}
    spec = {
        "name": "lookups",
        "site": {
            "kind": "aws",
            "region": "us-east-1",
            "zones": ["us-east-1a"],
            "images": {"slurm-cpu-x86": image},
        },
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": [{"name": "cpu", "machine": "m6i.8xlarge", "nodes": 2}],
        "storage": [
            {"name": "flash", "kind": "weka", "capacity": "100 TiB", "mount": "/flash", "options": weka},
            {"name": "fsx", "kind": "lustre", "capacity": "1200 GiB", "mount": "/fsx", "import_from": "s3://corpus"},
        ],
    }
    return yaml.safe_dump(spec)


def preview(engine: Engine) -> tuple[int, str]:
    """The exit code of a preview, and what it prints, with each space once."""
    done = engine.run("preview", "--suppress-progress", code=None)
    return done.code, " ".join(done.text.split())


def test_missing_resources_are_reported_by_the_preview(start: Start, emulator: Emulator) -> None:
    engine = start(build_spec(ARM))
    engine.configure({"supercloud:sshKey": "mine"})
    before = list_left(emulator)
    code, text = preview(engine)
    assert code
    for problem in (
        f"site.images.slurm-cpu-x86: the image {ARM} does not exist in us-east-1",
        "storage[0].options.install: the bucket corp-software does not exist",
        "storage[0].options.install-token: the secret weka-token does not exist",
        "storage[1].import_from: the bucket corpus does not exist",
        "ssh_key: the key pair mine does not exist in us-east-1",
    ):
        assert problem in text, text
    assert list_left(emulator) == before


def test_resources_that_do_not_fit_are_reported_with_what_fits(start: Start, emulator: Emulator) -> None:
    engine = start(build_spec({"id": X86, "root": "/dev/sdz"}))
    engine.configure({"supercloud:sshKey": "mine"})
    place = {"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}
    assert has_operation(emulator, "s3.create_bucket", {"Bucket": "corp-software"})
    assert has_operation(emulator, "s3.create_bucket", {"Bucket": "corpus", **place})
    assert has_operation(emulator, "secretsmanager.create_secret", {"Name": "weka-token", "SecretString": "token"})
    assert has_operation(emulator, "ec2.create_key_pair", {"KeyName": "mine"})
    code, text = preview(engine)
    assert code
    assert f"site.images.slurm-cpu-x86.root: the root device of {X86} is " in text and ", not /dev/sdz" in text, text
    assert "storage[1].import_from: the bucket corpus is in eu-west-1, the cluster in us-east-1" in text, text
    assert "does not exist" not in text, text
