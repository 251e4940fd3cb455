"""`zm`: the command for people and for editors. It starts on every prompt, so it imports little."""
