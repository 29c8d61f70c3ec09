"""The commands, one module a group. Each imports what is heavy only when it runs."""
