"""The whole system: real server processes, a real policy repository, real documents, the command line in front."""
