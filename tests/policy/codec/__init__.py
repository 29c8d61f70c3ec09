"""Messages in and out of the core: what is refused, where, and in which words."""
