"""What a program keeps between its calls: snapshots of it, phases, and state that only one call needs."""
