"""The index service: what becomes of records and grants, each change an immutable revision in the one order."""
