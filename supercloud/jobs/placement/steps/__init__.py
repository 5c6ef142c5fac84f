"""The steps of placement that can refuse a pool, one file each."""
