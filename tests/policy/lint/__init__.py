"""Warnings: for each kind several members, and close neighbours that must not be told."""
