"""Declared identities: a name, a role and the tenants it is entitled to.

How a caller proves one is the listeners' business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.policy.facts import Caller
from discreet.policy.idents import label_problem
from discreet.policy.words import Role
from discreet.server.errors import ConfigRefused

IDENTITIES_MAX = 64
TENANTS_MAX = 1_000

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,47}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Identity:
    """Someone who may call. `tenants` None: entitled to all."""

    name: str
    role: Role
    tenants: tuple[str, ...] | None = None

    def caller(self) -> Caller:
        """The identity as decisions see it."""
        return Caller(self.name, self.role, None if self.tenants is None else frozenset(self.tenants))


ONE_DEVELOPER: tuple[Identity, ...] = tuple(Identity(role.short, role) for role in Role)
"""The zero-configuration default: one identity a role, named by it, entitled to every tenant."""


def checked(identities: Sequence[Identity]) -> tuple[Identity, ...]:
    """The identities, or ConfigRefused saying which is wrong. Names become file names, so they are short and plain."""
    if not identities:
        raise ConfigRefused("identities: none declared; declare at least one, or leave the key out for the default")
    if len(identities) > IDENTITIES_MAX:
        raise ConfigRefused(f"identities: {len(identities)} declared; at most {IDENTITIES_MAX}")
    seen: set[str] = set()
    for place, identity in enumerate(identities):
        _check(f"identities[{place}]", identity)
        if identity.name in seen:
            raise ConfigRefused(f"identities[{place}].name: declared twice; names are unique")
        seen.add(identity.name)
    return tuple(identities)


def _check(where: str, identity: Identity) -> None:
    if not _NAME.fullmatch(identity.name):
        raise ConfigRefused(f"{where}.name: must match [a-z0-9][a-z0-9._-]{{0,47}}")
    if identity.tenants is None:
        return
    if not 1 <= len(identity.tenants) <= TENANTS_MAX:
        raise ConfigRefused(f'{where}.tenants: give 1 to {TENANTS_MAX} tenants, or "*" for all')
    for tenant in identity.tenants:
        problem = label_problem(tenant)
        if problem:
            raise ConfigRefused(f"{where}.tenants: a tenant {problem}")
