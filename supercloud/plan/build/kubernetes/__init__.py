"""Decisions about Kubernetes, which bundle and job engine both read, so that they cannot disagree."""
