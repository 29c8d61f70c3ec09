"""What the tables of both databases share: one metadata, and the type of an id. Must know nothing else."""

from sqlalchemy import MetaData, Text

Id = Text().with_variant(Text(collation="C"), "postgresql")
"""Text compared by exact code points on either database."""
metadata = MetaData()
