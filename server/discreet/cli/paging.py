"""Answers that come in pages, gathered up to a limit. Must know nothing of what the pages hold."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAGE_MAX = 1_000


def pages(fetch: Callable[[int, str], tuple[list[T], str]], limit: int) -> tuple[list[T], bool]:
    """Up to `limit` items, and whether there are more. `fetch` takes a page size and a page token, empty at first."""
    found: list[T] = []
    token = ""
    while True:
        items, token = fetch(min(PAGE_MAX, limit - len(found)), token)
        found += items
        if not token or not items or len(found) >= limit:
            return found[:limit], bool(token) and len(found) >= limit
