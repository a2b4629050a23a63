"""Extraction without a model: names, definitions and abbreviations by rule, relations by what stands between them."""
