"""Taking memories out of a home and into one: formats, export, import, and leaving for good."""
