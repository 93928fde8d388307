"""Loaded bundles: calls and their arguments. Needs numpy, not torch."""
