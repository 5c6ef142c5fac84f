"""Object stores: private, versioned, encrypted, reached over TLS only."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_aws import s3

from ..archive import packed
from ..work import CLUSTER_TAG, Work

__all__ = ["buckets_of", "publish"]

_DAYS_OF_UPLOADS = 7
"""After so long the parts of an upload that was never finished are thrown away."""


def buckets_of(work: Work) -> Mapping[str, s3.Bucket]:
    """A bucket for every object store of the plan, and the one with the published configuration."""
    found = {work.cloud.state_bucket: _bucket(work, work.cloud.state_bucket)}
    for item in work.cloud.storage:
        if item.kind == "bucket":
            own, versions = item.options.get("bucket"), bool(item.options.get("versioning", True))
            found[item.name] = _bucket(work, item.name, None if own is None else str(own), versions)
    return found


def publish(work: Work, bucket: s3.Bucket) -> list[pulumi.Resource]:
    """Every bundle as one archive, under a key that stays: machines read it when they start."""
    tags = work.tags()
    if len(tags) > work.cloud.limits["object-tags"]:  # fewer than other things may have
        tags = {CLUSTER_TAG: work.identity}
    return [
        s3.BucketObjectv2(
            work.child(f"{target}-bundle"),
            bucket=bucket.bucket,
            key=f"{target}/{target}.tar.gz",
            content_base64=packed(bundle),
            content_type="application/gzip",
            tags=tags,
            opts=work.options(),
        )
        for target, bundle in sorted(work.bundles.items())
    ]


def _bucket(work: Work, name: str, own: str | None = None, versions: bool = True) -> s3.Bucket:
    """The bucket, ``own`` being a name of the user's, and what guards it, all of which stays when the bucket does."""
    key = f"bucket-{name}"
    bucket = s3.Bucket(work.child(key, "bucket"), bucket=own, tags=work.tags(name), opts=work.options(keeps=True))
    closed = s3.BucketPublicAccessBlock(
        work.child(f"{key}-private"),
        bucket=bucket.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=work.options(keeps=True),
    )
    s3.BucketVersioning(
        work.child(f"{key}-versions"),
        bucket=bucket.bucket,
        versioning_configuration={"status": "Enabled" if versions else "Suspended"},
        opts=work.options(keeps=True),
    )
    s3.BucketServerSideEncryptionConfiguration(
        work.child(f"{key}-encryption"),
        bucket=bucket.bucket,
        rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}, "bucket_key_enabled": True}],
        opts=work.options(keeps=True),
    )
    s3.BucketLifecycleConfiguration(
        work.child(f"{key}-uploads"),
        bucket=bucket.bucket,
        rules=[
            {
                "id": "unfinished-uploads",
                "status": "Enabled",
                "filter": {},
                "abort_incomplete_multipart_upload": {"days_after_initiation": _DAYS_OF_UPLOADS},
            }
        ],
        opts=work.options(keeps=True),
    )
    s3.BucketPolicy(
        work.child(f"{key}-policy"),
        bucket=bucket.bucket,
        policy=pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [_tls_only(bucket)]}),
        opts=work.options(keeps=True, depends_on=[closed]),  # the two calls get in each other's way
    )
    return bucket


def _tls_only(bucket: s3.Bucket) -> dict[str, object]:
    return {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [bucket.arn, pulumi.Output.concat(bucket.arn, "/*")],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
