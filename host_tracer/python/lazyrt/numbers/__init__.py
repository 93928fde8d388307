"""Numbers that leave the graph and know their way back; arrays of NumPy."""
