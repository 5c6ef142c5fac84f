"""What engines of batch systems share: commands here or on a login node, and the files of jobs."""
