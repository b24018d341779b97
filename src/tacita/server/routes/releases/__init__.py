"""Routes of releases and models."""
