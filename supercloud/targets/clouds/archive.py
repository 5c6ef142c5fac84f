"""A bundle as one compressed archive in text: few objects, the same bytes for the same files."""

from __future__ import annotations

import base64
import gzip
import io
import tarfile

from ...primitives.bundle import Bundle

__all__ = ["pack_bundle"]


def pack_bundle(bundle: Bundle) -> str:
    """Return the files as a gzipped tar in base64. Owners are root, times are zero, modes are the bundle's."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, file in bundle.files.items():
            content = file.text.encode()
            member = tarfile.TarInfo(path)
            member.size, member.mode, member.uname, member.gname = len(content), file.mode, "root", "root"
            archive.addfile(member, io.BytesIO(content))
    return base64.b64encode(gzip.compress(raw.getvalue(), mtime=0)).decode()
