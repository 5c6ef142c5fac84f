"""A small cluster: a network, a group of machines, a file system and a bucket with state, and a secret."""

import pulumi
import pulumi_aws as aws


class Cluster(pulumi.ComponentResource):
    """What the real component looks like, in small."""

    def __init__(self, name: str, nodes: int, cidr: str, template: str | None, opts: pulumi.ResourceOptions):
        super().__init__("toy:index:Cluster", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        state = pulumi.ResourceOptions(parent=self, protect=True)
        prefix = cidr.split(".")[:2]
        vpc = aws.ec2.Vpc(f"{name}-vpc", cidr_block=cidr, tags={"Name": name}, opts=child)
        subnets = [
            aws.ec2.Subnet(
                f"{name}-{zone}",
                vpc_id=vpc.id,
                cidr_block=f"{'.'.join(prefix)}.{index}.0/24",
                availability_zone=zone,
                opts=child,
            )
            for index, zone in enumerate(("us-east-1a", "us-east-1b"))
        ]
        token = pulumi.Config().require_secret("joinToken")
        secret = aws.secretsmanager.Secret(f"{name}-join", opts=child)
        aws.secretsmanager.SecretVersion(f"{name}-join", secret_id=secret.id, secret_string=token, opts=child)
        template = aws.ec2.LaunchTemplate(
            f"{name}-lt",
            name=template,
            image_id="ami-0123456789abcdef0",
            instance_type="p5.48xlarge",
            block_device_mappings=[{"device_name": "/dev/sda1", "ebs": {"volume_size": 200, "encrypted": "true"}}],
            opts=child,
        )
        group = aws.autoscaling.Group(
            f"{name}-asg",
            min_size=nodes,
            max_size=nodes,
            desired_capacity=nodes,
            vpc_zone_identifiers=[subnet.id for subnet in subnets],
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            opts=child,
        )
        scratch = aws.fsx.LustreFileSystem(
            f"{name}-fsx", subnet_ids=subnets[0].id, storage_capacity=1200, deployment_type="SCRATCH_2", opts=state
        )
        data = aws.s3.Bucket(f"{name}-data", opts=state)
        self.group, self.dns, self.bucket = group.name, scratch.dns_name, data.bucket
        self.register_outputs({"group": group.name})


config = pulumi.Config()
provider = aws.Provider("aws", region="us-east-1")
cluster = Cluster(
    "c",
    config.require_int("nodes"),
    config.get("cidr") or "10.0.0.0/16",
    config.get("template"),
    pulumi.ResourceOptions(providers={"aws": provider}),
)
pulumi.export("dns", cluster.dns)
pulumi.export("bucket", cluster.bucket)
