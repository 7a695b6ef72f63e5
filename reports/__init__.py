"""The face of the analysis: `python -m reports RUN_DIR`."""
