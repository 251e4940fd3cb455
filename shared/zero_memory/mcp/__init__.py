"""The Model Context Protocol over HTTP, pure: request in, response out."""
