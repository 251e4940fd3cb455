"""The wire: arguments, results and errors of every tool."""
