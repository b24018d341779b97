"""Commands that attack, audit and decide."""
