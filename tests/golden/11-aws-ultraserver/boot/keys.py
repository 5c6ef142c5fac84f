#!/usr/bin/env python3
# made by supercloud VERSION from the spec ultra; do not edit

"""keys.py PORT KEY GIVEN: gives every machine of the cluster the daemons' shared key, once, when it joins.

Runs as root on the controller, the only machine whose role can read the key from the secret store. If nodes and login hosts
had that permission, so would every user who can act as the machine.

A client must
1. use a port below 1024, which only root can open;
2. have the address of a running instance of the cluster's groups (members.txt): the cloud is queried for the instance, and
   it does not deliver packets with a forged source address, so that the response reaches that instance;
3. not have received the key before: an instance confirms the receipt before it runs user processes, and never gets it again.

So a user with a shell or a job on a node cannot get the key: both the port and the key file need root, and the instance has
confirmed before the first user process. The key is encrypted for a private key that the client has just created, so that
recorded packets do not reveal it. Root of a node already has the key; a cluster cannot be protected against that.

POST /key with a certificate (PEM) -> the key as CMS (DER); POST /confirm -> received. A status other than 200 has the reason
in its body. GIVEN has a line for each instance that has the key: remove the line of an instance whose disk was replaced.
"""

import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.environ.get("BOOT_ROOT", "")
FRESH = 5
"""Seconds for which the cloud's list of instances is cached."""
ASK_AGAIN = 1
"""Seconds after which the list is queried again for an unknown address: instances start one after the other."""
LARGEST = 16384
"""Maximum size of a certificate in bytes."""
PRIVILEGED = 1024
"""Ports below this one are reserved for root."""
LIST = 'set -euo pipefail; source "$1/etc/supercloud/env"; source "$1/opt/supercloud/cloud.sh"; cloud_instances "$2"'


class Refused(Exception):
    """Status code and reason."""


class Members:
    """Instances by address, and the instances that have the key."""

    def __init__(self, given):
        self._file, self._lock, self._at, self._known = given, threading.Lock(), None, {}
        os.makedirs(os.path.dirname(given), exist_ok=True)
        with open(given, "a+") as file:
            file.seek(0)
            self._given = {line.strip() for line in file}

    def instance(self, address):
        """The instance that has the address now."""
        with self._lock:
            limit = FRESH if address in self._known else ASK_AGAIN
            if self._at is None or time.monotonic() - self._at > limit:
                self._known, self._at = self._ask(), time.monotonic()
        if address not in self._known:
            raise Refused(403, "no instance of this cluster has the address %s yet" % address)
        return self._known[address]

    def has_key(self, instance):
        """Whether the instance has confirmed that it has the key."""
        with self._lock:
            return instance in self._given

    def confirm(self, instance):
        """Record permanently that the instance has the key."""
        with self._lock:
            if instance in self._given:
                return
            with open(self._file, "a") as file:
                file.write(instance + "\n")
                file.flush()
                os.fsync(file.fileno())
            self._given.add(instance)

    def _ask(self):
        found = {}
        with open(os.path.join(HERE, os.pardir, "settings", "members.txt")) as file:
            groups = [line.strip() for line in file if line.strip() and not line.startswith("#")]
        for group in groups:
            done = subprocess.run(["/bin/bash", "-c", LIST, "list", ROOT, group], stdout=subprocess.PIPE, timeout=300)
            if done.returncode:
                raise Refused(503, "the instances of %s cannot be listed" % group)
            for line in done.stdout.decode().splitlines():
                words = line.split()
                if len(words) >= 2 and words[1] != "-":
                    found[words[1]] = words[0]
        return found


class Server(http.server.ThreadingHTTPServer):
    """Closes connections from ports that are not reserved for root, without reading."""

    daemon_threads = True

    def __init__(self, port, key, members):
        self.key, self.members = key, members
        super().__init__(("0.0.0.0", port), Handler)

    def verify_request(self, request, client_address):
        return client_address[1] < PRIVILEGED


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = 30

    def do_POST(self):
        try:
            size = int(self.headers.get("Content-Length") or 0)
            if not 0 <= size <= LARGEST:
                raise Refused(413, "certificate larger than %d bytes" % LARGEST)
            answer, status = self._answer(self.rfile.read(size)), 200
        except Refused as refused:
            status, answer = refused.args[0], refused.args[1].encode()
            say("%s: refused: %s" % (self.client_address[0], refused.args[1]))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            status, answer = 503, b"internal error: see the journal of supercloud-keys on the controller"
            say("%s: %s" % (self.client_address[0], error))
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _answer(self, body):
        members, address = self.server.members, self.client_address[0]
        instance = members.instance(address)
        if self.path == "/confirm":
            members.confirm(instance)
            say("%s: %s has the key" % (address, instance))
            return b""
        if self.path != "/key":
            raise Refused(404, "unknown path: use /key or /confirm")
        if members.has_key(instance):
            raise Refused(409, "%s has already confirmed that it has the key, which is given only once" % instance)
        return encrypt(self.server.key, body)

    def log_message(self, *words):
        """Does nothing: the requests that matter are logged above."""


def encrypt(key, certificate):
    """Return the key file, encrypted for the owner of the certificate."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate)
        file.flush()
        command = ["openssl", "cms", "-encrypt", "-binary", "-outform", "DER", "-aes-256-cbc", "-in", key]
        command += ["-recip", file.name, "-keyopt", "rsa_padding_mode:oaep"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if done.returncode:
        raise Refused(400, "the key cannot be encrypted for this certificate")
    return done.stdout


def say(text):
    print(time.strftime("%FT%TZ", time.gmtime()), text, flush=True)


if __name__ == "__main__":
    os.umask(0o077)
    port, key, given = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    Server(port, key, Members(given)).serve_forever()
