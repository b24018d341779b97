"""Models of points in a public box: clusters, components, naive Bayes, networks of numbers."""
