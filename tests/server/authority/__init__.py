"""What operators do that stands above single records, over real sockets."""
