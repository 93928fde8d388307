"""Extents that vary."""
