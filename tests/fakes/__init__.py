"""Small real things that stand in for services: they answer deterministically and can be told to misbehave."""
