"""The accounting database, where the provider runs it. RDS makes its password and keeps it as a secret."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi
from pulumi_aws import rds, route53

from ..work import Work
from .dns import record
from .network import Network
from .security import Walls, group_of, reach
from .watch import Watch, alarm

__all__ = ["Database", "database_of"]

_BACKUP_DAYS = 14
_USER = "slurm"
_NAME = "slurm_acct_db"


@dataclass(frozen=True)
class Database:
    """A database that exists."""

    host: str
    address: pulumi.Output[str]
    secret: pulumi.Output[str]
    """ARN of the secret with user and password."""


def database_of(work: Work, network: Network, walls: Walls, zone: route53.Zone, watch: Watch) -> Database | None:
    """None where accounting runs on a machine of its own, or there is none."""
    plan = work.cloud.database
    if plan is None:
        return None
    wall = group_of(work, network, "database", "The accounting database")
    reach(work, "database", walls.cluster, wall, str(plan.port), outward=work.cloud.network.closed)
    subnets = rds.SubnetGroup(
        work.child(f"{plan.key}-subnets", "database"),
        subnet_ids=network.among(plan.subnets),
        tags=work.tags(plan.key),
        opts=work.options(),
    )
    server = rds.Instance(
        work.child(plan.key, "database"),
        engine=plan.engine,
        engine_version=plan.version,
        instance_class=plan.machine,
        allocated_storage=plan.disk.ceil("GiB"),
        storage_type="gp3",
        storage_encrypted=True,
        db_name=_NAME,
        username=_USER,
        manage_master_user_password=True,
        db_subnet_group_name=subnets.name,
        vpc_security_group_ids=[wall.id],
        publicly_accessible=False,
        backup_retention_period=_BACKUP_DAYS,
        copy_tags_to_snapshot=True,
        deletion_protection=work.keep,
        skip_final_snapshot=not work.keep,
        final_snapshot_identifier=f"{work.child(plan.key, 'database')}-final" if work.keep else None,
        tags=work.tags(plan.key),
        opts=work.options(keeps=True),
    )
    record(work, zone, plan.host, server.address, "CNAME")
    alarm(
        work, watch, "database-free", "AWS/RDS:FreeStorageSpace", {"DBInstanceIdentifier": server.identifier},
        below=float(plan.disk.base) / 10, statistic="Minimum", text="The accounting database is nearly full",
    )  # fmt: skip
    secret = server.master_user_secrets.apply(lambda secrets: str(secrets[0].secret_arn))
    return Database(plan.host, server.address, secret)
