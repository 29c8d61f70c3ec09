"""Servers on either database, as the tests of standing facts have them."""

from tests.server.authority.conftest import either, postgres

__all__ = ["either", "postgres"]
