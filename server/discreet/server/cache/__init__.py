"""Redis as a copy of policy bundles, and as a bell. Knows ports, never servicers or stores."""

from __future__ import annotations

from discreet.server.bell import Bell
from discreet.server.cache.address import parse_redis
from discreet.server.logs import Log
from discreet.server.policies.bundles import NoCache
from discreet.server.ports_cache import BundleCache


def cache_of(url: str, prefix: str, bell: Bell, log: Log) -> BundleCache:
    """The cache at a URL; for an empty one none. ConfigRefused where it is no URL of a Redis."""
    if not url:
        return NoCache()
    from discreet.server.cache.redis_cache import RedisCache  # half a second that only a server with Redis waits for

    return RedisCache(parse_redis(url), prefix, bell, log)
