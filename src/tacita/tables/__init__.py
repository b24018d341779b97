"""Counts and estimates over a domain: cells, exact tables, workloads, recodings, releases with their error."""
