"""Requests of bounded size and duration to what is not under our control: commands, and HTTP with a credential."""
