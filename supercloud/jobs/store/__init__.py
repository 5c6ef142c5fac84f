"""The durable store of jobs: tables, records, locks and maintenance."""
