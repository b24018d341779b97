"""The console: Tacita for people who look rather than program. A client of the REST interface, with no way past it."""
