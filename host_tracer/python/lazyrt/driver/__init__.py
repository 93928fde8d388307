"""From a program and example calls to a checked bundle, in stages."""
