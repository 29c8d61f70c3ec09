"""The servers of one database: leases, what is told of them, and waiting for them."""
