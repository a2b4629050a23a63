"""One script a change of the schema, named r<number>_<what>."""
