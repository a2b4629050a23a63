"""Entities and relations: read out of chunks, resolved over documents, kept as a graph."""
