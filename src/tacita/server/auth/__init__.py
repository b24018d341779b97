"""Authentication, authorisation and rate limits."""
