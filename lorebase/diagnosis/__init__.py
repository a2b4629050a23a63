"""Whether everything a workspace needs is there: one finding a check, each with what to do next."""
