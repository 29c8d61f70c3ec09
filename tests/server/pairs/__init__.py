"""Each change that can come between a decision and its commit, in both orders, with the order forced."""
