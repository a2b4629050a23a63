"""Recipes: model, loading, validation, expansion into steps."""
