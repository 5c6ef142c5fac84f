"""Logs, alarms and the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import budgets, cloudwatch, ec2, sns

from ..work import CLUSTER_TAG, Work
from .iam import allow, role_of
from .network import Network

__all__ = ["Watch", "alarm", "budget_of", "flows_of", "log_group", "watch_of"]

_DAYS_KEPT = 90
_WARN_AT = ((80.0, "FORECASTED"), (100.0, "ACTUAL"))
"""Per cent of the budget, and whether they are spent or foreseen."""


@dataclass(frozen=True)
class Watch:
    """Where machines write logs and whom alarms tell."""

    logs: cloudwatch.LogGroup | None
    """Of machines of Slurm; a managed Kubernetes has a log group of its own."""
    topic: sns.Topic


def watch_of(work: Work) -> Watch:
    """The cluster's log group and the topic of its alarms, with a subscription for each mail address."""
    topic = sns.Topic(work.child("alarms", "topic"), tags=work.tags("alarms"), opts=work.options())
    sns.TopicPolicy(
        work.child("alarms"),
        arn=topic.arn,
        policy=pulumi.Output.json_dumps({"Version": "2012-10-17", "Statement": [_speakers(topic)]}),
        opts=work.options(),
    )
    for address in work.given.notify:
        sns.TopicSubscription(
            work.child(f"alarms-{address}"), topic=topic.arn, protocol="email", endpoint=address, opts=work.options()
        )
    return Watch(log_group(work, "logs") if work.plan.scheduler.kind == "slurm" else None, topic)


def _speakers(topic: sns.Topic) -> dict[str, object]:
    """Alarms and budgets of the account may speak on the topic."""
    return {
        "Effect": "Allow",
        "Principal": {"Service": ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"]},
        "Action": "sns:Publish",
        "Resource": topic.arn,
        "Condition": {"StringEquals": {"aws:SourceAccount": topic.owner}},
    }


def log_group(
    work: Work, key: str, *, name: pulumi.Input[str] | None = None, prefix: str | None = None
) -> cloudwatch.LogGroup:
    """A log group; ``name`` or how it begins where a service insists on it."""
    return cloudwatch.LogGroup(
        work.child(key, "log-group"),
        name=name,
        name_prefix=prefix,
        retention_in_days=_DAYS_KEPT,
        tags=work.tags(key),
        opts=work.options(),
    )


def alarm(
    work: Work,
    watch: Watch,
    key: str,
    metric: str,
    dimensions: Mapping[str, pulumi.Input[str]],
    *,
    above: float | None = None,
    below: float | None = None,
    statistic: str = "Average",
    text: str,
) -> None:
    """Tell the topic when a metric (``AWS/EC2:StatusCheckFailed``) passes a threshold for three periods of 5 min."""
    namespace, _, name = metric.partition(":")
    cloudwatch.MetricAlarm(
        work.child(f"alarm-{key}", "alarm"),
        alarm_description=text,
        namespace=namespace,
        metric_name=name,
        dimensions=dict(dimensions),
        comparison_operator="LessThanThreshold" if above is None else "GreaterThanThreshold",
        threshold=below if above is None else above,
        statistic=statistic,
        period=300,
        evaluation_periods=3,
        alarm_actions=[watch.topic.arn],
        ok_actions=[watch.topic.arn],
        tags=work.tags(f"alarm-{key}"),
        opts=work.options(),
    )


def flows_of(work: Work, network: Network) -> None:
    """Who talked to whom in a network of ours."""
    if network.vpc is None:
        return
    logs = log_group(work, "flows")
    write = allow(
        ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogGroups", "logs:DescribeLogStreams"],
        [logs.arn, pulumi.Output.concat(logs.arn, ":*")],
    )
    own = {"StringEquals": {"aws:SourceAccount": network.vpc.owner_id}}  # not for flow logs of other accounts
    role = role_of(work, "flows", "vpc-flow-logs.amazonaws.com", [write], when=own)
    ec2.FlowLog(
        work.child("flows"),
        vpc_id=network.id,
        traffic_type="REJECT",  # what is allowed would be every packet of every job
        log_destination=logs.arn,
        iam_role_arn=role.arn,
        tags=work.tags("flows"),
        opts=work.options(),
    )


def budget_of(work: Work, watch: Watch) -> None:
    """A monthly budget over everything with the cluster's tag, where the plan has one."""
    limit = work.cloud.monthly_budget
    if limit is None:
        return
    budgets.Budget(
        work.child("budget", "budget"),
        budget_type="COST",
        limit_amount=f"{limit.to('USD'):.2f}",
        limit_unit="USD",
        time_unit="MONTHLY",
        cost_filters=[{"name": "TagKeyValue", "values": [f"user:{CLUSTER_TAG}${work.identity}"]}],
        notifications=[
            budgets.BudgetNotificationArgs(
                comparison_operator="GREATER_THAN",
                notification_type=kind,
                threshold=share,
                threshold_type="PERCENTAGE",
                subscriber_sns_topic_arns=[watch.topic.arn],
                subscriber_email_addresses=list(work.given.notify) or None,
            )
            for share, kind in _WARN_AT
        ],
        tags=work.tags("budget"),
        opts=work.options(),
    )
