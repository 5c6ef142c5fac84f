"""What a placement requests of the scheduler of its cluster, in that scheduler's words, one file each."""
