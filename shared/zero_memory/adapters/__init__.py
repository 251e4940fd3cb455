"""The ports' homes: one module a vendor."""
