"""Kubernetes as decided; bundle and job engine both read it, so they cannot disagree."""
