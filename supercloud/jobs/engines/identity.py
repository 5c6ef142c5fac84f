"""Whether a job that an engine has under a key is the requested one, if the store lacks its record.

A store that was restored from a backup lacks later submissions. The key of such a job may be used again,
for the same job or another one: the digest of the spec, which engines keep with their jobs, distinguishes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from .base import CarriesDigests, Engine
from .submission import compute_spec_digest

__all__ = ["find_digests", "explain_mismatch"]


def find_digests(engine: Engine, refs: Sequence[str], since: float) -> dict[str, str]:
    """For each job found on an engine, the digest of its spec; jobs without one are omitted."""
    return dict(engine.find_digests(refs, since)) if refs and isinstance(engine, CarriesDigests) else {}


def explain_mismatch(cluster: str, ref: str, key: str, digest: str | None, job: str, spec: str) -> str:
    """Why a job found by its key is not the requested one; empty if it is.

    ``digest`` is that of the found job, None if it has none; ``job`` describes the requested one, whose
    spec is in the stored form.
    """
    wanted = compute_spec_digest(spec)
    if digest == wanted:
        return ""
    if digest is None:
        return (
            f"{cluster} has job {ref} under the key {key!r}, with an unknown spec (an earlier "
            f"version submitted it, or the engine keeps no digests): it is not assumed to be {job}; check it there, "
            "and submit with another key unless it is the same"
        )
    return (
        f"{cluster} has job {ref} under the key {key!r}, submitted before the restore with a different spec "
        f"(digest {digest}) than {job} (digest {wanted}); submit {job} with another key"
    )
