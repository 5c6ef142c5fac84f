"""The tables of the store, as a list of migrations. A new version adds one; existing ones never change."""

from __future__ import annotations

__all__ = ["MIGRATIONS"]

_JOBS_MIGRATION = """
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        spec TEXT NOT NULL,
        placement TEXT NOT NULL,
        submission TEXT NOT NULL,
        cluster TEXT NOT NULL,
        connection TEXT NOT NULL,
        engine TEXT NOT NULL,
        ref TEXT,
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL DEFAULT 1,
        exit_code INTEGER,
        reason TEXT NOT NULL DEFAULT '',
        owner TEXT NOT NULL DEFAULT '',
        recorded REAL NOT NULL,
        submitted REAL,
        started REAL,
        ended REAL
    );
    CREATE INDEX live_jobs ON jobs (state) WHERE state IN
        ('PENDING', 'SUBMITTING', 'QUEUED', 'RUNNING', 'UNKNOWN');
    CREATE TABLE events (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job INTEGER NOT NULL REFERENCES jobs (id),
        at REAL NOT NULL,
        state TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        note TEXT NOT NULL
    );
    CREATE INDEX events_of_job ON events (job)
    """

# Jobs that the broker holds and restarts elsewhere, and the usage of a job. The tenant of earlier jobs is in their
# spec.
_BROKER_MIGRATION = """
    ALTER TABLE jobs ADD COLUMN fleet TEXT NOT NULL DEFAULT '';
    ALTER TABLE jobs ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
    ALTER TABLE jobs ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
    ALTER TABLE jobs ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN launch INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN earlier INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN recalled INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN watts REAL;
    ALTER TABLE jobs ADD COLUMN hourly REAL;
    ALTER TABLE jobs ADD COLUMN joules REAL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN dollars REAL DEFAULT 0;
    UPDATE jobs SET
        tenant = coalesce(json_extract(spec, '$.tenant'), ''),
        priority = coalesce(json_extract(spec, '$.priority'), 'normal'),
        retries = coalesce(json_extract(spec, '$.retries'), 0);
    DROP INDEX live_jobs;
    CREATE INDEX live_jobs ON jobs (state) WHERE state IN
        ('HELD', 'PENDING', 'SUBMITTING', 'QUEUED', 'RUNNING', 'UNKNOWN');
    CREATE TABLE abandoned (
        id INTEGER PRIMARY KEY,
        job INTEGER NOT NULL REFERENCES jobs (id),
        connection TEXT NOT NULL,
        ref TEXT NOT NULL
    );
    CREATE INDEX spending ON jobs (tenant, ended) WHERE hourly IS NOT NULL OR dollars > 0
    """

# Units of a job for fair shares, and its reserved cost until the time limit for budgets.
_SHARES_MIGRATION = """
    ALTER TABLE jobs ADD COLUMN units REAL;
    ALTER TABLE jobs ADD COLUMN unit_seconds REAL NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN promised REAL;
    UPDATE jobs SET units = json_extract(placement, '$.nodes')
        * max(1, coalesce(json_extract(placement, '$.accelerators_per_node'), 0))
        WHERE tenant != '' AND placement != '';
    CREATE INDEX shares ON jobs (ended, tenant, units, started, unit_seconds)
        WHERE tenant != '' AND units IS NOT NULL AND ended IS NOT NULL
    """

# Lookup by name among a million jobs, for ``after`` and lists.
_NAMES_MIGRATION = """
    CREATE INDEX jobs_by_name ON jobs (name)
    """

# The process that submits a job increments its lease counter; others record since when the counter is unchanged.
_LEASES_MIGRATION = """
    ALTER TABLE jobs ADD COLUMN lease INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE watches (
        job INTEGER NOT NULL REFERENCES jobs (id),
        boot TEXT NOT NULL,
        owner TEXT NOT NULL,
        lease INTEGER NOT NULL,
        since REAL NOT NULL,
        PRIMARY KEY (job, boot)
    )
    """

# SQLite's own check does not detect damage inside a value. Every row has a checksum of all its columns, created by
# triggers (``database.compute_checksum``) and compared when it is read. Adding a column requires new triggers.
_JOB_COLUMNS = (
    "id, key, name, spec, placement, submission, cluster, connection, engine, ref, state, attempt, exit_code,"
    " reason, owner, recorded, submitted, started, ended, fleet, tenant, priority, retries, launch, earlier,"
    " recalled, watts, hourly, joules, dollars, units, unit_seconds, promised, lease"
)
_EVENT_COLUMNS = "id, job, at, state, attempt, note"


def _build_checksum_migration(table: str, columns: str) -> str:
    made = f"UPDATE {table} SET checksum = checksum({{}}) WHERE id = NEW.id; END;"
    new = made.format(", ".join(f"NEW.{name}" for name in columns.split(", ")))
    return f"""
    ALTER TABLE {table} ADD COLUMN checksum INTEGER;
    UPDATE {table} SET checksum = checksum({columns});
    CREATE TRIGGER {table}_made AFTER INSERT ON {table} BEGIN {new}
    CREATE TRIGGER {table}_changed AFTER UPDATE ON {table} BEGIN {new}
    """


_CHECKSUMS_MIGRATION = _build_checksum_migration("jobs", _JOB_COLUMNS) + _build_checksum_migration(
    "events", _EVENT_COLUMNS
)

# The dependencies of a job, resolved when it was submitted: a name may later be that of another job. And restores:
# engines may have jobs that a restored store lacks, or has as not yet started.
_DEPENDENCIES_MIGRATION = """
    CREATE TABLE awaited (
        job INTEGER NOT NULL REFERENCES jobs (id),
        other INTEGER NOT NULL,
        PRIMARY KEY (job, other)
    );
    CREATE TABLE restores (
        at REAL NOT NULL,
        since REAL NOT NULL,
        last INTEGER NOT NULL
    )
    """

# The key under which an abandoned launch was submitted: the next launch of the job has another key, and engines reuse
# refs. It is empty for launches that an earlier version abandoned.
_ABANDONED_KEYS_MIGRATION = """
    ALTER TABLE abandoned ADD COLUMN key TEXT NOT NULL DEFAULT ''
    """

MIGRATIONS = (
    _JOBS_MIGRATION,
    _BROKER_MIGRATION,
    _SHARES_MIGRATION,
    _NAMES_MIGRATION,
    _LEASES_MIGRATION,
    _CHECKSUMS_MIGRATION,
    _DEPENDENCIES_MIGRATION,
    _ABANDONED_KEYS_MIGRATION,
)
