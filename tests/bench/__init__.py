"""Measurements against peers, as ratios of interleaved runs; `make bench` runs them all.

Nothing here is a timed test.
"""
