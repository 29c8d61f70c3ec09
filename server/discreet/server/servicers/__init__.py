"""What each service answers; knows ports, and of gRPC nothing but statuses."""
