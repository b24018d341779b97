"""One file for each noun; every route is a few lines over a library call."""
