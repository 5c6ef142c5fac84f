"""Public keys are parsed as sshd does; no message has a part of a private one."""

from __future__ import annotations

import base64

import pytest

from supercloud.primitives.ssh_keys import find_key_problem, is_private_key, normalize_key


def build_key(kind: str, *fields: bytes, prefix: str = "") -> str:
    data = b"".join(len(item).to_bytes(4, "big") + item for item in (kind.encode(), *fields))
    return f"{prefix or kind} {base64.b64encode(data).decode()} ada@laptop"


ED25519 = build_key("ssh-ed25519", bytes(range(32)))
RSA = build_key("ssh-rsa", b"\1\0\1", b"\0" + b"\xc0" * 256)
PRIVATE = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW"


@pytest.mark.parametrize(
    "key",
    [
        ED25519,
        ED25519.rsplit(" ", 1)[0],
        RSA,
        build_key("ecdsa-sha2-nistp256", b"nistp256", bytes(65)),
        build_key("sk-ssh-ed25519@openssh.com", bytes(32), b"ssh:"),
        build_key("sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", bytes(65), b"ssh:"),
        f"{ED25519} of Ada's laptop\n",
    ],
)
def test_keys_of_all_types_are_accepted(key: str) -> None:
    assert find_key_problem(key) is None
    assert normalize_key(key).split() == key.split()


@pytest.mark.parametrize(
    "key, message",
    [
        (build_key("ssh-ed25519", bytes(32), prefix="ssh-rsa"), "of another type"),
        (build_key("ssh-ed25519", bytes(31)), "its length is wrong"),
        (build_key("ssh-ed25519"), "damaged or incomplete"),
        (build_key("ssh-ed25519", bytes(32), b"more"), "damaged or incomplete"),
        (build_key("ssh-rsa", b"\1\0\1", b"\0" + b"\xc0" * 128), "1024 bits is too weak"),
        (build_key("ssh-dss", b"1", b"2", b"3", b"4"), "not accepted by OpenSSH"),
        (ED25519[:40], "damaged"),
        ("ssh-ed25519 not-base64!", "not base64"),
        ("ssh-ed25519", "no data"),
        ("  ", "empty"),
        ("~/.ssh/id_ed25519.pub", "does not begin with the type"),
        (f'from="10.0.0.0/8" {ED25519}', "does not begin with the type"),
        (f"{ED25519}\n{RSA}", "one line"),
        (f"{ED25519}\x07", "one line"),
    ],
)
def test_wrong_keys_are_found(key: str, message: str) -> None:
    found = find_key_problem(key)
    assert found is not None and message in found.problem and found.hint


@pytest.mark.parametrize(
    "text",
    [
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PRIVATE}\n-----END OPENSSH PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n",
        "PuTTY-User-Key-File-3: ssh-ed25519\nMIIEpAIBAAKCAQEA",
        PRIVATE,
        f"ssh-ed25519 {PRIVATE} ada",
    ],
)
def test_private_keys_are_refused_and_not_shown(text: str) -> None:
    found = find_key_problem(text)
    assert is_private_key(text) and found is not None and "private key, which is not shown" in found.problem
    assert not any(word in " ".join(found) for word in text.split() if len(word) > 12)


@pytest.mark.parametrize("text", [ED25519, RSA, "a text", "", "ä" * 30])
def test_other_texts_are_no_private_keys(text: str) -> None:
    assert not is_private_key(text)
