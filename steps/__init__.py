"""What a recipe can name: one step class a file, and the built-in procedures."""
