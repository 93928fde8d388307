"""What the program sees while it is captured: lazy tensors that pass for CPU tensors."""
