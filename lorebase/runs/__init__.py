"""Runs: the build algorithm, its state, records and reports."""
