"""Long work in processes of its own: queue, workers, computations."""
