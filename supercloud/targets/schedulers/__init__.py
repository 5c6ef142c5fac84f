"""Plan -> Bundle of text for whatever places work on nodes."""
