"""What Prefect runs: one deployable flow a file, and what they share to run and show a build."""
