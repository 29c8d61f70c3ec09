"""The edge to gRPC: bytes in, bytes out, statuses, listeners, health."""
