"""The authority in small: every interleaving of a few calls, in a model and on the real stores."""
