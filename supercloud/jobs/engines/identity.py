"""Whether a job that an engine has under a key is the one that is asked for, where the store cannot know.

A store that was restored from a copy has forgotten what was submitted since. The key of such a job may be used again,
for the same job or for another one: the digest of the spec, which engines keep with their jobs, tells which.
"""

from __future__ import annotations

from collections.abc import Sequence

from .base import CarriesDigests, Engine
from .submission import compute_spec_digest

__all__ = ["find_digests", "explain_mismatch"]


def find_digests(engine: Engine, refs: Sequence[str], since: float) -> dict[str, str]:
    """For each job that was found on an engine, the digest of its spec; those that carry none are left out."""
    return dict(engine.find_digests(refs, since)) if refs and isinstance(engine, CarriesDigests) else {}


def explain_mismatch(cluster: str, ref: str, key: str, digest: str | None, job: str, spec: str) -> str:
    """Why a job found by its key is not taken for the one that is asked for; empty where it is that one.

    ``digest`` is what the found job carries, None where it carries none; ``job`` names the one that is asked for, whose
    spec is given as the store has it.
    """
    wanted = compute_spec_digest(spec)
    if digest == wanted:
        return ""
    if digest is None:
        return (
            f"{cluster} has job {ref} under the key {key!r}, and nothing says what it was submitted for (an earlier "
            f"version submitted it, or the engine keeps no digests): it is not taken for {job}; look at it there, "
            "and submit with another key unless it is the same"
        )
    return (
        f"{cluster} has job {ref} under the key {key!r}, submitted before the store was restored for something else "
        f"(spec digest {digest}) than {job} (spec digest {wanted}); submit {job} with another key"
    )
