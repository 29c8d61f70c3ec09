"""Tests of holders: being one, and what a store keeps to."""
