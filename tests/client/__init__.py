"""The tests of the client, against real gRPC servers that play every answer, well-formed or hostile."""
