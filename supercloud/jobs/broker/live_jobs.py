"""The jobs that have not ended, with their specs."""

from __future__ import annotations

from ...errors import StoreError
from ...primitives.quantity import Duration
from ...spec import JobSpec
from ..placement.place import Placement
from ..store.records import JobRecord, build_unreadable_error
from .context import BrokerContext

__all__ = ["LiveJobs"]


class LiveJobs:
    """Reads the jobs that have not ended; the spec of each job is parsed once."""

    def __init__(self, context: BrokerContext):
        self._context = context
        self.parsed_specs: dict[int, JobSpec] = {}
        """By job of the fleet."""
        self._readable_placements: dict[int, str] = {}
        """By job, as text: placements that are known to be readable."""

    def list_readable(self) -> list[JobRecord]:
        """All readable jobs that have not ended; unreadable ones are reported and not changed."""
        damaged: list[StoreError] = []
        live = self._context.store.list_live(damaged)
        specs, placements = self.parsed_specs, self._readable_placements
        self.parsed_specs, self._readable_placements, readable = {}, {}, []
        for record in live:
            try:
                if record.fleet == self._context.fleet.spec.name:
                    self.parsed_specs[record.id] = specs.get(record.id) or _parse_spec(record)
                if record.placement and placements.get(record.id) != record.placement:
                    Placement.from_json(record.placement)
                self._readable_placements[record.id] = record.placement
                readable.append(record)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                damaged.append(build_unreadable_error(record, error))
        for problem in damaged:
            self._context.reporter.report(f"warning: {problem}")
        return readable

    def build_current_spec(self, record: JobRecord) -> JobSpec:
        """A job's spec for submission now: its deadline counts from when it was recorded."""
        job = self.parsed_specs[record.id]
        if job.deadline is None:
            return job
        remaining = max(0.0, job.deadline.to("s") - (self._context.clock() - record.recorded))
        return job.model_copy(update={"deadline": Duration(round(remaining), "s")})


def _parse_spec(record: JobRecord) -> JobSpec:
    """The recorded spec, without the fields that the broker handles itself. Raises :class:`ValueError` if this version
    cannot read it.
    """
    return JobSpec.model_validate_json(record.spec).model_copy(update={"after": ()})
