"""All cables as columns: ends, lengths from rack positions, kinds from the catalog."""
