"""Queries: what they find, how rankings are joined, and the re-check against the authority."""
