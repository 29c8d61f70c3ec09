"""Replaying recorded decisions, as a pure function of row, facts and revisions."""
