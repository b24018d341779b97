"""Structures of exact rows, for their owner: columns and series, learned networks, and the files of any network."""
