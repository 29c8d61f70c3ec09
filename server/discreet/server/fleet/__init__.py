"""The servers of one database: what each tells of itself, until when its answers may leave, who waits for them."""
