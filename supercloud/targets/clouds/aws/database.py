"""The accounting database as a managed service. RDS generates its password and stores it as a secret."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_aws import rds

from ..build_context import BuildContext
from .dns import create_record
from .encryption import find_key
from .network import Network
from .security import SecurityGroups, allow_traffic, create_security_group
from .watch import AlarmRule, Monitoring, create_alarm

__all__ = ["AccountingDatabase", "create_database"]

_BACKUP_DAYS = 14
_DATABASE_USER = "slurm"
_DATABASE_NAME = "slurm_acct_db"


@dataclass(frozen=True)
class AccountingDatabase:
    """A created database."""

    host: str
    address: pulumi.Output[str]
    secret: pulumi.Output[str]
    """ARN of the secret with user and password."""


def create_database(
    context: BuildContext,
    network: Network,
    security_groups: SecurityGroups,
    zone: pulumi.Input[str],
    monitoring: Monitoring,
) -> AccountingDatabase | None:
    """Create the database; None if accounting runs on a separate machine or is disabled."""
    plan = context.cloud.database
    if plan is None:
        return None
    security_group = create_security_group(context, network, "database", "The accounting database")
    allow_traffic(
        context,
        "database",
        security_groups.cluster,
        security_group,
        str(plan.port),
        needs_egress=context.cloud.network.is_isolated,
    )
    subnets = rds.SubnetGroup(
        context.name_child(f"{plan.key}-subnets", "database"),
        subnet_ids=network.select_subnet_ids(plan.subnets),
        tags=context.build_tags(plan.key),
        opts=context.build_options(),
    )
    server = rds.Instance(
        context.name_child(plan.key, "database"),
        engine=plan.engine,
        engine_version=plan.version,
        instance_class=plan.machine,
        allocated_storage=plan.disk.ceil("GiB"),
        storage_type="gp3",
        storage_encrypted=True,
        kms_key_id=find_key(context),
        master_user_secret_kms_key_id=find_key(context),
        db_name=_DATABASE_NAME,
        username=_DATABASE_USER,
        manage_master_user_password=True,
        db_subnet_group_name=subnets.name,
        vpc_security_group_ids=[security_group.id],
        publicly_accessible=False,
        backup_retention_period=_BACKUP_DAYS,
        copy_tags_to_snapshot=True,
        deletion_protection=context.is_protected,
        skip_final_snapshot=not context.is_protected,
        final_snapshot_identifier=f"{context.name_child(plan.key, 'database')}-final" if context.is_protected else None,
        tags=context.build_tags(plan.key),
        opts=context.build_options(has_data=True),
    )
    create_record(context, zone, plan.host, server.address, "CNAME")
    create_alarm(
        context,
        monitoring,
        "database-free",
        {"DBInstanceIdentifier": server.identifier},
        AlarmRule(
            "AWS/RDS:FreeStorageSpace",
            "The accounting database is nearly full",
            below=float(plan.disk.base) / 10,
            statistic="Minimum",
        ),
    )
    secret = server.master_user_secrets.apply(lambda secrets: str(secrets[0].secret_arn))
    return AccountingDatabase(plan.host, server.address, secret)
