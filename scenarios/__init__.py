"""Locust user classes, one a file."""
