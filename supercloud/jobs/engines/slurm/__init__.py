"""Slurm as an engine: ``commands`` makes argv, ``texts`` reads answers, both pure; ``engine`` alone runs a process."""
