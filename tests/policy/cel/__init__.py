"""Conditions: tables of cases, attacks on the guards, the oracle, threads."""
