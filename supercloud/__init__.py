"""Declare an AI supercomputer once; plan, render and use it."""
