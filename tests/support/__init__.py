"""What tests, benches and tools share: servers that they start, files that break, networks that are drawn."""
