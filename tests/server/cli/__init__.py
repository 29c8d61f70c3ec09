"""The command line, through its own edge: what is typed, what is printed, how it ends."""
