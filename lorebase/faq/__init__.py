"""Questions with their answers: read from tables, records and Markdown, compared with one another, and searched."""
