"""What Alembic runs: the scripts of this folder over the connection it was given. There is no ini file and no URL."""

from alembic import context

from lorebase.governance.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="alembic_version_governance",
)
with context.begin_transaction():
    context.run_migrations()
