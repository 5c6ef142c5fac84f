"""What is published of a plan: the document, the summary, what changes between two plans."""
