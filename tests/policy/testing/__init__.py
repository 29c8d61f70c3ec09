"""Policy tests themselves: what they take, what they decide, what they measure."""
