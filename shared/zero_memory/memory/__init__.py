"""What is stored, how it is written, and how its state changes."""
