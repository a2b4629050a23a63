"""Documents: sources, parsing, splitting."""
