"""The policy sets under policy/examples: what people copy."""
