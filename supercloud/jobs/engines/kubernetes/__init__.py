"""Kubernetes with Kueue or Volcano: jobs as objects of its API server."""
