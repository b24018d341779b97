"""Processing of every request: gate, errors, logs, metrics, sockets."""
