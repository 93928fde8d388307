"""What a program keeps between its calls: snapshots of it, phases, what only one call needs."""
