"""The demo: the whole story with real parts, told as it happens. It decides nothing."""
