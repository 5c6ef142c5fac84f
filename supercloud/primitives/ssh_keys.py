"""Public keys of SSH, as ``authorized_keys`` has them. Source: sshd(8), AUTHORIZED_KEYS FILE FORMAT; RFC 4253, 6.6."""

from __future__ import annotations

import base64
import binascii
import struct

__all__ = ["KEY_TYPES", "check_public_key"]

KEY_TYPES = (
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)
"""Types of keys that OpenSSH accepts. It no longer accepts DSA keys."""


def check_public_key(text: str) -> str:
    """Return a public key in one line: type, key and comment.

    Raises :class:`ValueError` for anything else, without the text: it may be a private key.
    """
    if "PRIVATE KEY" in text:
        raise ValueError("this is a private key: nobody else may have it; use the file with the ending .pub")
    words = text.split()
    if "\n" in text.strip() or len(words) < 2:
        raise ValueError("a public key is one line: its type, the key in base64 and a comment")
    if words[0] not in KEY_TYPES:
        raise ValueError(f"a public key begins with its type: {', '.join(KEY_TYPES)}")
    try:
        blob = base64.b64decode(words[1], validate=True)
        parts = _split_blob(blob)
    except (binascii.Error, struct.error, ValueError):
        raise ValueError("the key is damaged or incomplete: copy the whole line of the .pub file") from None
    if len(parts) < 2 or parts[0] != words[0].encode():
        raise ValueError(f"the key is not of the type {words[0]}: copy the whole line of the .pub file")
    return " ".join(words)


def _split_blob(blob: bytes) -> list[bytes]:
    """The strings of a key, each with its length in front; raises ValueError if they do not fill it exactly."""
    parts, place = [], 0
    while place < len(blob):
        (length,) = struct.unpack_from(">I", blob, place)
        part = blob[place + 4 : place + 4 + length]
        if len(part) != length:
            raise ValueError("incomplete")
        parts.append(part)
        place += 4 + length
    return parts
