"""The main job end to end on made-up people: what `make demo` runs."""
