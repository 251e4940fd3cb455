"""What whoever runs the service does, at the table itself."""
