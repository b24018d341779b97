"""Before anyone is asked: design, views, sizes, stop rules, rehearsals."""
