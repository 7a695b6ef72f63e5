"""Measurements and truths that are too slow or too loud for the tests: `python -m benchmarks.NAME`."""
