"""Studies: what releases do to those who learn from them, measured. Long, and resumed where they stopped."""
