"""What AWS answers to the lookups of existing resources, for recorded programs: everything exists and fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from offline.monitor import Answers

__all__ = ["EXISTING", "REGION", "answer_image"]

REGION = "us-east-1"
IMAGE = "aws:ec2/getAmi:getAmi"
PARAMETER = "aws:ssm/getParameter:getParameter"
BUCKET = "aws:s3/getBucket:getBucket"
SECRET = "aws:secretsmanager/getSecret:getSecret"
KEY_PAIR = "aws:ec2/getKeyPair:getKeyPair"


def answer_image(root: str = "/dev/sda1", architecture: str = "x86_64") -> Mapping[str, Any]:
    """The answer for an image with this root device."""
    return {"id": "ami-1", "imageId": "ami-1", "architecture": architecture, "rootDeviceName": root}


EXISTING: Answers = {
    IMAGE: answer_image(),
    PARAMETER: {"id": "parameter", "value": "ami-1"},
    BUCKET: {"id": "bucket", "bucketRegion": REGION},
    SECRET: {"id": "secret"},
    KEY_PAIR: {"id": "key"},
}
