"""The command line: each command is a few lines over a library call."""

from tacita.cli.main import app, main

__all__ = ["app", "main"]
