"""What a release is still worth: tables, associations, estimates, queries, models, and for whom it fails."""
