"""Histories of real servers under load and faults, and the checker that says what is wrong with one."""
