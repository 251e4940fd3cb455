"""What every entry point shares."""
