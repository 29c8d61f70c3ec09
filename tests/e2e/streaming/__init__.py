"""The streaming example on a real sidecar: bytes on the wire while facts change at every point of an answer's way."""
