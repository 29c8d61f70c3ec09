"""Who is on the line: identities, their sockets, and which method is whose."""
