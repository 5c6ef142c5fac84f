"""The published forms of a plan: the document, the summary, the difference of two plans."""
