"""Replaying recorded decisions from a real database."""
