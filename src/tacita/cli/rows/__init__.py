"""Commands that release rows."""
