"""Policy revisions in a storm: commits, checks and faults of Redis at once on real servers, and every answer judged."""
