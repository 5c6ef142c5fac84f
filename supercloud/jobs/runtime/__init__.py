"""Code that is sent with a job to the machines that run it."""
