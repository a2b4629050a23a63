"""How answers reach a reader: outputs, text masters, slots, reply formats, bubbles and reply events."""
