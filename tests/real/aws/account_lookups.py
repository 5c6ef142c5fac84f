"""Functions of the AWS provider that look up what exists, answered by the emulated AWS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Caller(Protocol):
    """What makes calls of the API."""

    def call(self, operation: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call ``SERVICE.OPERATION``."""


def find_image(account: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    filters = [{"Name": item["name"], "Values": item["values"]} for item in given["filters"]]
    found = account.call("ec2.describe_images", {"Filters": filters})["Images"]
    if not found:
        raise LookupError("Your query returned no results. Please change your search criteria and try again.")
    image = found[0]
    return {
        "id": image["ImageId"],
        "imageId": image["ImageId"],
        "architecture": image["Architecture"],
        "rootDeviceName": image["RootDeviceName"],
    }


def find_key_pair(account: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    found = account.call("ec2.describe_key_pairs", {"KeyNames": [given["keyName"]]})["KeyPairs"]
    return {"id": found[0]["KeyPairId"], "keyName": found[0]["KeyName"]}


def find_bucket(account: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    account.call("s3.head_bucket", {"Bucket": given["bucket"]})
    place = account.call("s3.get_bucket_location", {"Bucket": given["bucket"]})["LocationConstraint"]
    return {"id": given["bucket"], "bucket": given["bucket"], "bucketRegion": place or "us-east-1"}


def find_secret(account: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    found = account.call("secretsmanager.describe_secret", {"SecretId": given.get("arn") or given["name"]})
    return {"id": found["ARN"], "arn": found["ARN"], "name": found["Name"]}


def find_parameter(account: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    found = account.call("ssm.get_parameter", {"Name": given["name"]})["Parameter"]
    return {"id": found["Name"], "name": found["Name"], "value": found["Value"]}


LOOKUPS: Mapping[str, Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = {
    "aws:ec2/getAmi:getAmi": find_image,
    "aws:ec2/getKeyPair:getKeyPair": find_key_pair,
    "aws:s3/getBucket:getBucket": find_bucket,
    "aws:secretsmanager/getSecret:getSecret": find_secret,
    "aws:ssm/getParameter:getParameter": find_parameter,
}
"""Function -> what answers it."""
