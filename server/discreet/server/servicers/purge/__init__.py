"""The purge service: holders, the orders that a retention revoke makes, and what became of every item."""
