"""What decides: a folder for each subject."""
