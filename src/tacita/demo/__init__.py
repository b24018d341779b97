"""The main job end to end on simulated people, as `make demo` runs it."""
