"""Attacks on a release. Each attack states its number of trials and of successes, beside those of blind guesses and
those on people who are not in the data."""
