"""What is claimed about speed, memory and quality, as scripts anyone can run."""
