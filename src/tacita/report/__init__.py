"""Documents about releases: charts, pages, statements, signatures, the log of releases."""
