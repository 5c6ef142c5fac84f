"""Public SSH keys: parsed as sshd does, so that a wrong one is found before a user cannot log in.

Sources: RFC 4253, section 6.6 (form of a key), RFC 5656 (ECDSA), RFC 8709 (Ed25519), PROTOCOL.u2f of OpenSSH (``sk-``).
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

__all__ = ["SshKeyProblem", "find_key_problem", "is_private_key", "normalize_key"]

_MIN_RSA_BITS = 2048
"""The least that the system-wide policies of Red Hat's distributions accept."""
_ED25519_BYTES = 32
_FIELD_COUNTS = {
    "ssh-ed25519": 1,
    "ssh-rsa": 2,
    "ecdsa-sha2-nistp256": 2,
    "ecdsa-sha2-nistp384": 2,
    "ecdsa-sha2-nistp521": 2,
    "sk-ssh-ed25519@openssh.com": 2,
    "sk-ecdsa-sha2-nistp256@openssh.com": 3,
}
"""Types of keys that current releases of OpenSSH accept, and the number of fields after the type in their data."""
_OLD_TYPES = ("ssh-dss",)
_PRIVATE_MARKS = ("PRIVATE KEY", "PuTTY-User-Key-File", "SSH PRIVATE KEY FILE FORMAT")
_PRIVATE_START = b"openssh-key-v1\0"
_USE_PUBLIC = "use the line of the file that ends in .pub, such as ~/.ssh/id_ed25519.pub"


class SshKeyProblem(NamedTuple):
    """Why a text is not a usable key, and what to do; neither has any part of the text."""

    problem: str
    hint: str


def is_private_key(text: str) -> bool:
    """Whether a text has a private key, also only its base64 lines: such a text must not be shown."""
    return any(mark in text for mark in _PRIVATE_MARKS) or any(_is_private_data(word) for word in text.split())


def _is_private_data(word: str) -> bool:
    # 20 characters of base64 are 15 bytes, the length of the mark
    try:
        return base64.b64decode(word[:20], validate=True) == _PRIVATE_START
    except (binascii.Error, ValueError):
        return False


def normalize_key(text: str) -> str:
    """A valid key with single spaces between its type, its data and its comment."""
    return " ".join(text.split())


def find_key_problem(text: str) -> SshKeyProblem | None:
    """Why sshd would not accept a key, as one line of ``authorized_keys`` without options; None if it would."""
    if is_private_key(text):
        return SshKeyProblem(
            "this is a private key, which is not shown",
            f"{_USE_PUBLIC}; whoever has read this file can use the key: replace it with a new one",
        )
    if not text.strip().isprintable():
        return SshKeyProblem("a key is one line of printable characters", f"list each key separately; {_USE_PUBLIC}")
    words = text.split(maxsplit=2)
    if not words:
        return SshKeyProblem("the key is empty", _USE_PUBLIC)
    kind = words[0]
    if kind in _OLD_TYPES:
        return SshKeyProblem(
            f"keys of the type {kind} are not accepted by OpenSSH", "create one: ssh-keygen -t ed25519"
        )
    if kind not in _FIELD_COUNTS:
        known = ", ".join(_FIELD_COUNTS)
        return SshKeyProblem(
            "it does not begin with the type of a public SSH key", f"{_USE_PUBLIC}, without options; types: {known}"
        )
    if len(words) < 2:
        return SshKeyProblem(f"the key has only its type {kind}, and no data", _USE_PUBLIC)
    return _find_data_problem(kind, words[1])


def _find_data_problem(kind: str, data: str) -> SshKeyProblem | None:
    try:
        fields = _split_fields(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return SshKeyProblem("the data of the key is damaged: it is not base64", f"copy it again: {_USE_PUBLIC}")
    if not fields:
        return SshKeyProblem("the data of the key is damaged or incomplete", f"copy it again: {_USE_PUBLIC}")
    if fields[0] != kind.encode():
        return SshKeyProblem(
            f"the type is {kind}, the data is of a key of another type", f"copy it again: {_USE_PUBLIC}"
        )
    if len(fields) != _FIELD_COUNTS[kind] + 1 or not all(fields):
        return SshKeyProblem("the data of the key is damaged or incomplete", f"copy it again: {_USE_PUBLIC}")
    if "ed25519" in kind and len(fields[1]) != _ED25519_BYTES:
        return SshKeyProblem("the data of the key is damaged: its length is wrong", f"copy it again: {_USE_PUBLIC}")
    bits = int.from_bytes(fields[2], "big").bit_length() if kind == "ssh-rsa" else _MIN_RSA_BITS
    if bits < _MIN_RSA_BITS:
        return SshKeyProblem(f"an RSA key of {bits} bits is too weak", "create another one: ssh-keygen -t ed25519")
    return None


def _split_fields(data: bytes) -> list[bytes]:
    """The fields of a key, each with a length of four bytes before it; empty if they do not end with the data."""
    found: list[bytes] = []
    while data:
        length = int.from_bytes(data[:4], "big")
        if len(data) < 4 + length:
            return []
        found.append(data[4 : 4 + length])
        data = data[4 + length :]
    return found
