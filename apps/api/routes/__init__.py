"""One module a resource: its paths, what they take, which service they call."""
