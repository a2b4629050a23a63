"""The HTTP interface: FastAPI over the services of a workspace. Start at `app.create_app`."""
