"""What somebody could do with a release. Each attack says how often it worked, on how many trials, beside guessing and
beside people who are not in the data."""
