"""What the domain needs of the outside, as protocols."""
