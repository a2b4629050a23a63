"""The registry of knowledge bases: what each is made of, its source types and card types, and where they are kept."""
