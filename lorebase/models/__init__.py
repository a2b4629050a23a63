"""Models as the rest of Lorebase knows them: ports, settings, limits, token counts."""
