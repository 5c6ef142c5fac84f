"""The controller's service that gives out the daemons' key: who gets it, how often, and that others cannot read it."""

from __future__ import annotations

import http.client
import importlib.util
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from boot_machines import build_plan

from supercloud.targets import render

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")]

KEY = bytes(range(256)) * 4
HOME = "127.0.0.1"


class Service:
    """The rendered program, listening on a free port, in a cloud that is a folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        for place, name, target in (("boot", "keys.py", "boot"), ("settings", "members.txt", "settings")):
            path = folder / "opt/supercloud" / place / name
            path.parent.mkdir(parents=True)
            path.write_text(render(build_plan(), target)[name])
        (folder / "etc/supercloud").mkdir(parents=True)
        (folder / "etc/supercloud/env").write_text("ROLE='controller'\n")
        (folder / "opt/supercloud/cloud.sh").write_text(
            f'cloud_instances() {{ echo "$1" >>"{folder}/asked"; [ ! -e "{folder}/silent" ] && '
            f'cat "{folder}/instances-$1" 2>/dev/null || [ ! -e "{folder}/silent" ]; }}\n'
        )
        (folder / "key").write_bytes(KEY)
        self.begin()

    def begin(self) -> None:
        """Start, as after a restart of the controller: what it remembers is on its disk."""
        spec = importlib.util.spec_from_file_location("keys", self.folder / "opt/supercloud/boot/keys.py")
        assert spec is not None and spec.loader is not None
        self.program: ModuleType = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.program)
        program: Any = self.program
        program.ROOT, program.FRESH = str(self.folder), -1
        program.PRIVILEGED = 65536  # tests may not run as root; tests/real uses privileged ports
        self.server = program.Server(0, str(self.folder / "key"), program.Members(str(self.folder / "state/given")))
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def end(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def instances(self, group: str, *lines: str) -> None:
        (self.folder / f"instances-{group}").write_text("".join(f"{line}\n" for line in lines))

    def ask(self, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and answer."""
        connection = http.client.HTTPConnection(HOME, self.server.server_address[1], timeout=60)
        try:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def certificate(self) -> bytes:
        """A fresh one, whose private key is in the folder."""
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=join"]
        files = ["-keyout", self.folder / "private", "-out", self.folder / "certificate"]
        subprocess.run([*command, *files], check=True, capture_output=True)
        return (self.folder / "certificate").read_bytes()

    def decrypt(self, answer: bytes) -> bytes:
        command = ["openssl", "cms", "-decrypt", "-binary", "-inform", "DER", "-inkey", self.folder / "private"]
        done = subprocess.run([*command, "-recip", self.folder / "certificate"], input=answer, capture_output=True)
        return done.stdout


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path)
    try:
        yield found
    finally:
        found.end()


def test_an_instance_gets_the_key_until_it_confirms(service: Service) -> None:
    service.instances("train-spot", "i-1\t10.0.0.1", f"i-2\t{HOME}", "i-3\t-")
    certificate = service.certificate()
    for _ in range(2):  # an answer may be lost
        status, answer = service.ask("/key", certificate)
        assert status == 200 and KEY[:64] not in answer and service.decrypt(answer) == KEY
    assert service.ask("/confirm")[0] == 200
    status, output = service.ask("/key", certificate)
    assert status == 409 and b"i-2 has already confirmed" in output
    assert (service.folder / "state/given").read_text() == "i-2\n"
    assert service.ask("/confirm")[0] == 200  # it may not have heard the answer
    # the controller starts again: the answer is the same; another instance at the same address is another
    service.end()
    service.begin()
    assert service.ask("/key", certificate)[0] == 409
    service.instances("train-spot", f"i-4\t{HOME}")
    assert service.ask("/key", certificate)[0] == 200


def test_only_instances_of_the_cluster_get_the_key(service: Service) -> None:
    certificate = service.certificate()
    for group in ("scratch-servers", "ctl1"):  # instances of the cloud, but none that the daemons run on
        service.instances(group, f"i-9\t{HOME}")
    for path in ("/key", "/confirm"):
        status, output = service.ask(path, certificate)
        assert status == 403 and b"no instance of this cluster has the address 127.0.0.1" in output
    assert not (service.folder / "state/given").read_text()
    assert set((service.folder / "asked").read_text().split()) == {
        "train-spot",
        "train-on-demand",
        "block-block",
        "login",
    }


def test_a_login_is_an_instance_of_the_cluster(service: Service) -> None:
    service.instances("login", f"i-5 {HOME}")
    assert service.ask("/key", service.certificate())[0] == 200


def test_a_request_from_an_unprivileged_port_is_closed(service: Service) -> None:
    service.instances("train-spot", f"i-2\t{HOME}")
    program: Any = service.program
    program.PRIVILEGED = 1024
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        service.ask("/key", b"")


def test_invalid_requests_get_an_error(service: Service) -> None:
    service.instances("train-spot", f"i-2\t{HOME}")
    assert service.ask("/key", b"no certificate") == (400, b"the key cannot be encrypted for this certificate")
    assert service.ask("/other")[0] == 404
    assert service.ask("/key", bytes(20000))[0] == 413
    (service.folder / "silent").touch()
    assert service.ask("/key", b"")[0] == 503
    (service.folder / "silent").unlink()
    (service.folder / "key").unlink()
    assert service.ask("/key", service.certificate())[0] == 400
