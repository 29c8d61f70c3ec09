"""Tests of the cache on a real Valkey: what it keeps, how it rings, and every way in which it fails or lies."""
