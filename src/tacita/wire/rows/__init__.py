"""Requests and facts of released rows, tables, tap records and headlines."""
