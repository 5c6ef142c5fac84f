"""Public keys are recognized; everything else is rejected without being repeated."""

from __future__ import annotations

import base64
import struct

import pytest

from supercloud.primitives.ssh_keys import KEY_TYPES, check_public_key


def build_key(kind: str, *parts: bytes) -> str:
    blob = b"".join(struct.pack(">I", len(part)) + part for part in (kind.encode(), *parts))
    return f"{kind} {base64.b64encode(blob).decode()}"


@pytest.mark.parametrize("kind", KEY_TYPES)
def test_a_key_of_every_type_is_accepted(kind: str) -> None:
    key = build_key(kind, b"x" * 32)
    assert check_public_key(f"  {key}   ada@laptop \n") == f"{key} ada@laptop"


@pytest.mark.parametrize(
    "text, message",
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n", "this is a private key"),
        ("", "a public key is one line"),
        ("ssh-ed25519", "a public key is one line"),
        (f"{build_key('ssh-rsa', b'x')}\n{build_key('ssh-rsa', b'y')}", "a public key is one line"),
        (f'command="sh" {build_key("ssh-rsa", b"x")}', "begins with its type"),
        (build_key("ssh-dss", b"x"), "begins with its type"),
        ("ssh-ed25519 AAAA!", "damaged or incomplete"),
        (build_key("ssh-ed25519", b"x" * 32)[:-8], "damaged or incomplete"),
        (build_key("ssh-ed25519", b"x" * 32).replace("ssh-ed25519", "ssh-rsa"), "not of the type ssh-rsa"),
        (build_key("ssh-ed25519"), "not of the type"),
    ],
)
def test_other_text_is_rejected_and_not_repeated(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        check_public_key(text)
    assert "b3BlbnNzaC1rZXk" not in str(caught.value)
