"""How people reach Lorebase."""
