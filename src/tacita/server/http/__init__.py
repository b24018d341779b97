"""What every request passes: gate, errors, logs, metrics, sockets."""
