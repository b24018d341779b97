"""Engines: the sources of data, where exact counting happens; one folder for each kind of source."""
