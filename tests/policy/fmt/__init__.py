"""The one layout of policy files: what it looks like, and that it changes nothing that a file says."""
