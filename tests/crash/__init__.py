"""Servers that are killed at any point under load: what callers were told is compared with what the audit holds."""
