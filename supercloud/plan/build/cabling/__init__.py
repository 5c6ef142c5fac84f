"""Every cable as columns: its ends, its length from where racks stand, its kind from the catalog."""
