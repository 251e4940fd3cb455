"""One long-term memory that every AI coding agent of a person or team shares."""

__version__ = "0.1.0"
