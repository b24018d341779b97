"""What is read off collected tables: tests, networks, rules, influence of liars."""
