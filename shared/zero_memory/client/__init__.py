"""zm: the command for people and for editors' hooks."""
