#!/usr/bin/env python3
# made by supercloud VERSION from the spec ultra; edits are lost

"""keys.py PORT KEY GIVEN: gives every machine of the cluster the key of all daemons, once, when it joins.

Runs as root on the controller, the only machine whose role may read the key from the secret store. A standing right of
nodes and logins would be one of every user who becomes able to speak for the machine; this is what they have instead.

Whoever asks has to
1. use a port below 1024: on the machine that asks, only root may open such a port;
2. have the address of a running instance of the cluster's groups (members.txt): the cloud itself is asked which instance
   that is, and a cloud delivers no packet with another's source address, so the answer comes to that instance;
3. not have had the key: the instance confirms that it has it, before it runs anything of a user, and is never given it again.

So a user with a shell or a job on a node gets nothing: without root neither the port is there nor the key's file readable,
and when the first user comes, the instance has confirmed. The key is encrypted for a private key that the asking machine has
just made: whoever records packets has nothing either. Root of a node has the key already; nothing protects a cluster from it.

POST /key with a certificate (PEM) -> the key as CMS (DER); POST /confirm -> it is there. An answer other than 200 says why.
GIVEN has a line an instance that has it: take a line out to let an instance ask again, one whose disk was replaced.
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
"""Seconds for which what the cloud said of its instances is believed."""
ASK_AGAIN = 1
"""Seconds after which it is asked again for an address that it did not know: instances come one after the other."""
LARGEST = 16384
"""Bytes of a certificate."""
PRIVILEGED = 1024
"""Ports below are root's."""
LIST = 'set -euo pipefail; source "$1/etc/supercloud/env"; source "$1/opt/supercloud/cloud.sh"; cloud_instances "$2"'


class Refused(Exception):
    """Status code and reason."""


class Members:
    """Instances by address, and those that have the key."""

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
            raise Refused(403, "the cloud knows no instance of this cluster at %s yet" % address)
        return self._known[address]

    def has_key(self, instance):
        """Whether the instance has confirmed that it has the key."""
        with self._lock:
            return instance in self._given

    def confirm(self, instance):
        """Remember, for good, that the instance has the key."""
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
        with open(os.path.join(HERE, "members.txt")) as file:
            groups = [line.strip() for line in file if line.strip() and not line.startswith("#")]
        for group in groups:
            done = subprocess.run(["/bin/bash", "-c", LIST, "list", ROOT, group], stdout=subprocess.PIPE, timeout=300)
            if done.returncode:
                raise Refused(503, "the cloud does not say which instances %s has" % group)
            for line in done.stdout.decode().splitlines():
                words = line.split()
                if len(words) >= 2 and words[1] != "-":
                    found[words[1]] = words[0]
        return found


class Server(http.server.ThreadingHTTPServer):
    """Hangs up, unread, on whoever uses a port that is not root's."""

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
                raise Refused(413, "a certificate has at most %d bytes" % LARGEST)
            answer, status = self._answer(self.rfile.read(size)), 200
        except Refused as refused:
            status, answer = refused.args[0], refused.args[1].encode()
            say("%s: refused: %s" % (self.client_address[0], refused.args[1]))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            status, answer = 503, b"the controller has a problem: see the journal of supercloud-keys there"
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
            raise Refused(404, "there is /key and /confirm")
        if members.has_key(instance):
            raise Refused(409, "%s has confirmed before that it has the key, and is given it once" % instance)
        return encrypt(self.server.key, body)

    def log_message(self, *words):
        """Nothing: what matters is said above."""


def encrypt(key, certificate):
    """The key's file for the owner of the certificate alone."""
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
