"""The query modes that ask a model: reranked, rewritten and multi-hop searches over a base mode."""
