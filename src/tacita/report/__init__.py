"""What people read about a release: charts, pages, statements, signatures, the log of releases."""
