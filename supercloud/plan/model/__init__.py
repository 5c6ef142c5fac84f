"""What is decided, as values: frozen models without decisions."""
