"""Retrieval from governed knowledge: trusted callers, typed filters, evidence with citations, or an honest none."""
