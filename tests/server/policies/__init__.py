"""Tests of policy revisions: followed, published, rolled back, listed."""
