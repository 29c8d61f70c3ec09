"""The audit spool: rows on the disk of the server before the answer, and in the database once, later."""
