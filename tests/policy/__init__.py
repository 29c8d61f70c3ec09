"""The suites of the pure core."""
