"""Slurm as an engine: ``commands`` builds argv, ``texts`` parses answers, both pure; only ``engine`` runs processes."""
