"""The core: what policies mean and what they decide. Pure: it knows no store, no transport and no clock."""
