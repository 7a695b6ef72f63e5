"""Tuning: what helps to choose how a server is run. Never imported by the analysis."""
