"""The guard of streamed answers: cutting, holding back, resuming; against real gRPC servers that play every answer."""
