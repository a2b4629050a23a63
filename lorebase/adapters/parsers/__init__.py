"""Engines that read documents."""
