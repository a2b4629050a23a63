"""Implementations of ports over libraries."""
