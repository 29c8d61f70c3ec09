"""The server and the command line."""
