"""Numbers that were read on the host and can return to the graph; arrays of NumPy."""
