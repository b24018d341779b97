"""Where data lies and is counted: one folder for each kind of place."""
