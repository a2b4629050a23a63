"""Alembic scripts that make and change the tables of governed knowledge; `lorebase.governance.migrating` runs them."""
