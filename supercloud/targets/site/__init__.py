"""Plan -> what a site is built and booted from."""
