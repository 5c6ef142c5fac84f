"""What travels with a job to the machines that run it."""
