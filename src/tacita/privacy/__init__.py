"""Who is protected, what it costs, and the account that it is charged to."""
