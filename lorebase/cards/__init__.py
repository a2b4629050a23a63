"""Wiki cards: pages of a card type, proposed from evidence, validated, and accepted or rejected by people."""
