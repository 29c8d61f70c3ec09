"""One suite a port, passed by every adapter, real servers included."""
