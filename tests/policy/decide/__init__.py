"""The decision core, attacked: gates, rules, replay, and what a reader can learn."""
