"""Object stores: private, versioned, encrypted, reached over TLS only."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_aws import s3

from ..archive import pack_bundle
from ..build_context import CLUSTER_TAG, BuildContext
from .encryption import find_key

__all__ = ["create_buckets", "publish_bundles"]

_INCOMPLETE_UPLOAD_DAYS = 7
"""Time after which the parts of incomplete multipart uploads are deleted."""


def create_buckets(context: BuildContext) -> Mapping[str, s3.Bucket]:
    """Create a bucket for every object store of the plan, and the one for the published configuration."""
    found = {context.cloud.state_bucket: _create_bucket(context, context.cloud.state_bucket)}
    for item in context.cloud.storage:
        if item.kind == "bucket":
            own, versions = item.options.get("bucket"), bool(item.options.get("versioning", True))
            found[item.name] = _create_bucket(context, item.name, None if own is None else str(own), versions)
    return found


def publish_bundles(context: BuildContext, bucket: s3.Bucket) -> list[pulumi.Resource]:
    """Upload every bundle as one archive with a constant key: machines read it when they start."""
    tags = context.build_tags()
    if len(tags) > context.cloud.limits["object-tags"]:  # lower than the limit of other resources
        tags = {CLUSTER_TAG: context.identity}
    return [
        s3.BucketObjectv2(
            context.name_child(f"{target}-bundle"),
            bucket=bucket.bucket,
            key=f"{target}/{target}.tar.gz",
            content_base64=pack_bundle(bundle),
            content_type="application/gzip",
            tags=tags,
            opts=context.build_options(),
        )
        for target, bundle in sorted(context.bundles.items())
    ]


def _create_bucket(
    context: BuildContext, name: str, bucket_name: str | None = None, is_versioned: bool = True
) -> s3.Bucket:
    """Create the bucket and its access settings, which are retained together with it. ``bucket_name``: a name of the
    user's choice.
    """
    key = f"bucket-{name}"
    bucket = s3.Bucket(
        context.name_child(key, "bucket"),
        bucket=bucket_name,
        tags=context.build_tags(name),
        opts=context.build_options(has_data=True),
    )
    access_block = s3.BucketPublicAccessBlock(
        context.name_child(f"{key}-private"),
        bucket=bucket.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=context.build_options(has_data=True),
    )
    s3.BucketVersioning(
        context.name_child(f"{key}-versions"),
        bucket=bucket.bucket,
        versioning_configuration={"status": "Enabled" if is_versioned else "Suspended"},
        opts=context.build_options(has_data=True),
    )
    s3.BucketServerSideEncryptionConfiguration(
        context.name_child(f"{key}-encryption"),
        bucket=bucket.bucket,
        rules=[{"apply_server_side_encryption_by_default": _build_encryption(context), "bucket_key_enabled": True}],
        opts=context.build_options(has_data=True),
    )
    s3.BucketLifecycleConfiguration(
        context.name_child(f"{key}-uploads"),
        bucket=bucket.bucket,
        rules=[
            {
                "id": "unfinished-uploads",
                "status": "Enabled",
                "filter": {},
                "abort_incomplete_multipart_upload": {"days_after_initiation": _INCOMPLETE_UPLOAD_DAYS},
            }
        ],
        opts=context.build_options(has_data=True),
    )
    s3.BucketPolicy(
        context.name_child(f"{key}-policy"),
        bucket=bucket.bucket,
        policy=pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [_deny_insecure_transport(bucket)]}),
        opts=context.build_options(has_data=True, depends_on=[access_block]),  # concurrent calls conflict
    )
    return bucket


def _build_encryption(
    context: BuildContext,
) -> s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgsDict:
    key = find_key(context)
    return {"sse_algorithm": "aws:kms", "kms_master_key_id": key} if key else {"sse_algorithm": "AES256"}


def _deny_insecure_transport(bucket: s3.Bucket) -> dict[str, object]:
    return {
        "Sid": "TlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [bucket.arn, pulumi.Output.concat(bucket.arn, "/*")],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
