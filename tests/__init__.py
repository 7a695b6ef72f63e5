"""Tests of Loadband, and what they stand on."""
