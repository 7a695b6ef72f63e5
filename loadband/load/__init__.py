"""Load: from a socket to a record. Never imports the analysis."""
