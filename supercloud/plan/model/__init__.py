"""The decisions, as values: frozen models without logic that decides."""
