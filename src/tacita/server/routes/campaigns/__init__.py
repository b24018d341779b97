"""Routes of campaigns."""
