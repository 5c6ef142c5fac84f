"""Plan -> files to build a site and to configure its networks."""
