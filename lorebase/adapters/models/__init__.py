"""Models behind the ports of `lorebase.models`: local ones that a package carries, and OpenAI-compatible endpoints."""
