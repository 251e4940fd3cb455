"""The deployment on one machine: the template's routes, the same handlers."""
