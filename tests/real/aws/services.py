"""What surrounds the instances of an emulated region, as one program that runs with the emulator.

- the instance metadata service, version 2 only, for the instance that has the caller's address;
- the API under the names of its endpoints, with TLS: each request is forwarded to the emulator;
- for the tests: ``/instances`` (what exists) and ``/calls`` (requests by operation), on a port of its own.

    python services.py ADDRESS METADATA_PORT API_PORT TEST_PORT ENDPOINT REGION CERTIFICATE KEY
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import secrets
import ssl
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3

ACCOUNT = "123456789012"
VERSIONS = ("latest", "2021-03-23", "2021-07-15", "2018-09-24", "2016-09-02", "2009-04-04")
TOKEN_SECONDS = 21_600


class Region:
    """What the emulator knows of instances."""

    def __init__(self, endpoint: str, name: str):
        self.endpoint, self.name = endpoint, name
        self.lock = threading.RLock()
        self.clients: dict[str, Any] = {}
        self.credentials: dict[str, dict[str, str]] = {}

    def get_client(self, service: str) -> Any:
        """A client with the rights of the account's owner; making one takes a tenth of a second."""
        with self.lock:
            if service not in self.clients:
                self.clients[service] = self._create_client(service)
            return self.clients[service]

    def _create_client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "administrator", "aws_secret_access_key": "of-the-emulator"}
        return boto3.client(service, self.name, endpoint_url=self.endpoint, **keys)

    def list_instances(self) -> list[dict[str, Any]]:
        """All instances that are not terminated."""
        pages = self.get_client("ec2").get_paginator("describe_instances").paginate()
        found = [item for page in pages for part in page["Reservations"] for item in part["Instances"]]
        return [item for item in found if item["State"]["Name"] not in ("terminated", "shutting-down")]

    def find_instance(self, address: str) -> dict[str, Any] | None:
        """The instance with a private address."""
        return next((item for item in self.list_instances() if item.get("PrivateIpAddress") == address), None)

    def read_user_data(self, instance: str) -> str:
        """User data as text; that of a launch template if the instance has none of its own."""
        found = self.get_client("ec2").describe_instance_attribute(InstanceId=instance, Attribute="userData")
        return base64.b64decode(found.get("UserData", {}).get("Value", "")).decode(errors="replace")

    def get_credentials(self, profile: str) -> dict[str, str]:
        """Temporary keys of the role of an instance profile; renewed in time by the machine."""
        role = self.get_client("iam").get_instance_profile(InstanceProfileName=profile)["InstanceProfile"]["Roles"][0]
        with self.lock:
            if role["RoleName"] not in self.credentials:
                given = self.get_client("sts").assume_role(RoleArn=role["Arn"], RoleSessionName="instance")
                keys = given["Credentials"]
                self.credentials[role["RoleName"]] = {
                    "Code": "Success",
                    "LastUpdated": _format_time(datetime.now(UTC)),
                    "Type": "AWS-HMAC",
                    "AccessKeyId": keys["AccessKeyId"],
                    "SecretAccessKey": keys["SecretAccessKey"],
                    "Token": keys["SessionToken"],
                    "Expiration": _format_time(keys["Expiration"]),
                }
            return {"role": role["RoleName"], **self.credentials[role["RoleName"]]}

    def find_profile(self, instance: dict[str, Any], tags: dict[str, str]) -> str:
        """The instance profile: the emulator does not give instances of a group that of their launch template."""
        arn = instance.get("IamInstanceProfile", {}).get("Arn", "")
        if not arn and "aws:ec2launchtemplate:id" in tags:
            versions = self.get_client("ec2").describe_launch_template_versions(
                LaunchTemplateId=tags["aws:ec2launchtemplate:id"], Versions=[tags["aws:ec2launchtemplate:version"]]
            )["LaunchTemplateVersions"]
            arn = versions[0]["LaunchTemplateData"].get("IamInstanceProfile", {}).get("Arn", "")
        return arn.rsplit("/", 1)[-1]

    def build_metadata(self, instance: dict[str, Any]) -> dict[str, Any]:
        """The tree under ``meta-data``."""
        tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
        address = instance["PrivateIpAddress"]
        tree: dict[str, Any] = {
            "ami-id": instance.get("ImageId", ""),
            "instance-id": instance["InstanceId"],
            "instance-type": instance["InstanceType"],
            "local-ipv4": address,
            "local-hostname": f"ip-{address.replace('.', '-')}.ec2.internal",
            "hostname": f"ip-{address.replace('.', '-')}.ec2.internal",
            "instance-life-cycle": instance.get("InstanceLifecycle", "on-demand"),
            "network": {"interfaces": {"macs": self._build_interfaces(instance)}},
            "placement": {"availability-zone": instance["Placement"]["AvailabilityZone"], "region": self.name},
            "services": {"domain": "amazonaws.com", "partition": "aws"},
            "tags": {"instance": tags},
        }
        profile = self.find_profile(instance, tags)
        if profile:
            found = self.get_credentials(profile)
            role = found.pop("role")
            tree["iam"] = {"security-credentials": {role: json.dumps(found)}}
        return tree

    def _build_interfaces(self, instance: dict[str, Any]) -> dict[str, Any]:
        """Without any, cloud-init stops; with addresses that no interface has, it configures none."""
        return {
            card["MacAddress"]: {
                "device-number": str(card["Attachment"]["DeviceIndex"]),
                "interface-id": card["NetworkInterfaceId"],
                "local-ipv4s": card["PrivateIpAddress"],
                "mac": card["MacAddress"],
                "subnet-id": card["SubnetId"],
                "vpc-id": card["VpcId"],
            }
            for card in instance["NetworkInterfaces"]
        }


def _format_time(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Quiet(BaseHTTPRequestHandler):
    """An HTTP/1.1 handler without a log."""

    protocol_version = "HTTP/1.1"
    region: Region

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, code: int, content: bytes | str = b"", **headers: str) -> None:
        """Send a whole response."""
        body = content.encode() if isinstance(content, str) else content
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Metadata(Quiet):
    """The instance metadata service; a request without a session token is rejected, as instances require tokens."""

    tokens: dict[str, tuple[str, float]] = {}

    def do_PUT(self) -> None:
        seconds = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if self.path != "/latest/api/token" or self.headers.get("X-Forwarded-For"):
            self.answer(403)
            return
        if not seconds.isdigit() or not 1 <= int(seconds) <= TOKEN_SECONDS:
            self.answer(400)
            return
        token = secrets.token_urlsafe(40)
        self.tokens[token] = (self.client_address[0], time.monotonic() + int(seconds))
        self.answer(200, token, X_aws_ec2_metadata_token_ttl_seconds=seconds)

    def do_GET(self) -> None:
        address, end = self.tokens.get(self.headers.get("X-aws-ec2-metadata-token", ""), ("", 0.0))
        if address != self.client_address[0] or end < time.monotonic():
            self.answer(401)
            return
        instance = self.region.find_instance(address)
        version, _, path = self.path.strip("/").partition("/")
        if instance is None or (version and version not in VERSIONS):
            self.answer(404)
            return
        found = self._find(instance, version, path.strip("/"))
        self.answer(404 if found is None else 200, found or "")

    def _find(self, instance: dict[str, Any], version: str, path: str) -> str | None:
        if not version:
            return "\n".join(VERSIONS)
        if path == "user-data":
            return self.region.read_user_data(instance["InstanceId"]) or None
        if path.startswith("dynamic"):
            document = {
                "accountId": ACCOUNT,
                "instanceId": instance["InstanceId"],
                "instanceType": instance["InstanceType"],
                "privateIp": instance["PrivateIpAddress"],
                "region": self.region.name,
                "availabilityZone": instance["Placement"]["AvailabilityZone"],
            }
            tree: Any = {"dynamic": {"instance-identity": {"document": json.dumps(document)}}}
        else:
            tree = {"meta-data": self.region.build_metadata(instance)}
        for name in path.split("/") if path else ():
            if not isinstance(tree, dict) or name not in tree:
                return None
            tree = tree[name]
        if isinstance(tree, dict):
            return "\n".join(name + ("/" if isinstance(item, dict) else "") for name, item in tree.items())
        return str(tree)


class Api(Quiet):
    """Forwards requests to the emulator, and counts them by operation and caller."""

    calls: Counter[str] = Counter()

    def _forward(self) -> None:
        is_chunked = "chunked" in self.headers.get("Transfer-Encoding", "")
        body = self._read_chunks() if is_chunked else self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.calls[f"{self.client_address[0]} {self._name_operation(body)}"] += 1
        host, port = self.region.endpoint.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=300)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "transfer-encoding"}
        connection.request(self.command, self.path, body, {**headers, "Content-Length": str(len(body))})
        response = connection.getresponse()
        content = response.read()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("content-length", "connection", "date", "server", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Content-Length", response.getheader("Content-Length") or str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _name_operation(self, body: bytes) -> str:
        service = self.headers.get("Host", "").split(".")[0]
        target = self.headers.get("X-Amz-Target", "")
        action = re.search(rb"(?:^|&)Action=([A-Za-z]+)", body)
        return f"{service} {target.rsplit('.')[-1] or (action[1].decode() if action else self.command)}"


class Tests(Quiet):
    """What tests ask."""

    def do_GET(self) -> None:
        if self.path == "/instances":
            keys = ("InstanceId", "PrivateIpAddress", "InstanceType", "Tags", "State")
            found = [{key: item.get(key) for key in keys} for item in self.region.list_instances()]
            self.answer(200, json.dumps(found))
        else:
            self.answer(200, json.dumps(dict(Api.calls)))

    def do_POST(self) -> None:
        """Call ``/SERVICE/OPERATION`` with parameters in JSON."""
        service, operation = self.path.strip("/").split("/")
        parameters = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        found = getattr(self.region.get_client(service), operation)(**parameters)
        found.pop("ResponseMetadata", None)
        self.answer(200, json.dumps(found, default=str))


def serve(handler: type[Quiet], address: str, port: int, context: ssl.SSLContext | None = None) -> None:
    """Serve in a thread."""
    server = ThreadingHTTPServer((address, port), handler)
    server.daemon_threads = True
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main() -> None:
    address, metadata, api, tests, endpoint, region, certificate, key = sys.argv[1:]
    Quiet.region = Region(endpoint, region)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    serve(Metadata, address, int(metadata))
    serve(Api, address, int(api), context)
    serve(Tests, "127.0.0.1", int(tests))
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
