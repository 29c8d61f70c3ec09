"""Stories of revokes, holds, freezes, holders and derived segments, and random steps of these."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

NEVER = {"never": {"gate": "DEPENDENCY"}}
LABELS = ["handbook", "prices", "notes"]
OUTCOMES = ["PURGED", "PURGED", "NOT_FOUND", "FAILED", "ABSENT", "PRESENT"]
Step = dict[str, Any]


def held_and_purged() -> Iterator[Step]:
    """Shown, held, revoked, kept, lifted, answered by two holders until the order is done; and what is refused."""
    yield {"register-holder": {"holder": "holder", "kind": "SEGMENT_STORE"}}
    yield {"commit": "page/desk", "as": "answer", **NEVER}
    yield {"commit": "page/open", "as": "other", **NEVER}
    yield {"place-hold": {"record": "page/desk", "as": "case"}}
    yield {"place-hold": {"source": "hadnbook"}, "refused": True}
    yield {"freeze": {"source": "hadnbook", "for": "1h"}, "refused": True}
    yield {"revoke": {"source": "hadnbook", "dry-run": True}, "refused": True}
    yield from _shown("answer")
    yield {"revoke": {"record": "page/desk", "as": "gone"}}
    yield from _shown("answer")
    yield {"acknowledge": {"holder": "holder", "order": "gone"}, "refused": True}
    yield {"purge-order": {"order": "gone", "items": {"HELD": 1}, "done": False}}
    yield {"register-holder": {"holder": "shelves", "kind": "DOCUMENT_STORE", "sources": ["handbook"]}}
    yield {"purge-order": {"order": "gone", "items": {"HELD": 3}}}
    yield {"lift-hold": "case"}
    yield {"lift-hold": "case", "refused": True}
    yield from _shown("answer")
    yield {"acknowledge": {"holder": "holder", "order": "gone", "outcome": "NOT_FOUND"}}
    yield {"acknowledge": {"holder": "shelves", "order": "gone", "outcome": "FAILED"}}
    yield {"wait": "11m"}
    for holder in ("holder", "shelves"):
        yield {"acknowledge": {"holder": holder, "order": "gone"}}
    yield {"wait": "30m"}
    yield {
        "revoke": {"source": "handbook", "purge-not-before": "2026-03-01T14:00:00Z", "ticket": "T-9"},
        "refused": True,
    }
    source = {"source": "handbook", "purge-not-before": "2026-03-01T14:00:00Z", "ticket": "T-9", "dry-run": True}
    yield {"revoke": source | {"as": "all of it"}}
    yield {"put": {"record": _page("page/new")}, "refused": True}
    yield {"suspend": "page/open", "refused": True}
    yield from _shown("other")
    yield {"wait": "2h"}
    yield from _shown("other")
    yield {"acknowledge": {"holder": "shelves", "order": "all of it"}}
    yield {"revoke": source}
    yield {"revoke": source | {"ticket": "T-10"}, "refused": True}


def derived() -> Iterator[Step]:
    """Made from others, it falls with any source, at every moment; freezes and a suspension end by themselves."""
    yield {"commit": "page/open", "as": "a", **NEVER}
    yield {"commit": "page/desk", "as": "b", **NEVER}
    yield {"commit": [], "parents": ["a", "b"], "as": "sum", **NEVER}
    yield {"commit": "page/open", "parents": ["sum"], "as": "again", **NEVER}
    yield {"commit": [], "parents": ["a", "b"], "as": "for bo", "principal": "bo", **NEVER}
    yield {"commit": [], "parents": ["b"], "as": "for cy", "principal": "cy", **NEVER}
    yield {"publish": [], "parents": ["for cy", "a"], **NEVER}
    yield {"suspend": {"record-id": "page/desk", "until": "2026-03-01T13:00:00Z"}}
    yield from _shown("sum")
    yield {"wait": "1h"}
    yield from _shown("sum")
    yield {"suspend": {"record-id": "page/desk", "until": "2026-03-01T13:00:00Z"}, "refused": True}
    yield {"freeze": {"source": "handbook", "for": "30m"}}
    yield from _shown("again")
    yield {"unfreeze": "handbook"}
    yield {"freeze": {"for": "10m"}}
    yield {"commit": [], "grounding": "UNBOUND", "kind": "talk", "as": "talk", **NEVER}
    yield from _shown("again")
    yield {"wait": "10m"}
    yield {"unfreeze": "everything", "refused": True}
    yield from _shown("again")
    yield {"revoke": {"all-versions-of": "page/desk", "dry-run": True, "as": "gone"}}
    for name in ("a", "b", "sum", "again", "for bo"):
        yield from _shown(name)
    yield {"put": {"record": _page("page/desk") | {"version": "2"}}, "refused": True}
    yield {"purge-order": {"order": "gone", "items": {}, "done": True}}


def _shown(name: str) -> Iterator[Step]:
    for step in ({"replay": name}, {"export": name}, {"replay": name, "principal": "bo"}):
        yield step | NEVER
    yield {"commit-again": name, **NEVER}


def _page(record_id: str) -> Step:
    record = {"record-id": record_id, "version": "1", "source-label": "handbook", "scopes": ["public"]}
    return record | {"collector": "collector", "assessment-expires-at": "2026-03-01T18:00:00Z"}


def random_parents(chance: random.Random, commits: list[str]) -> Step:
    """None, mostly; else one or two of the commits that were asked for before, let through or not."""
    if not commits or chance.random() < 0.6:
        return {}
    return {"parents": chance.sample(commits, min(len(commits), chance.choice([1, 2])))}


def random_act(chance: random.Random, made: dict[str, list[str]], records: list[str]) -> Step:
    """A random step on holds, freezes, revokes, holders or orders; `made` are the names given so far, by kind."""
    number, record = len(made["hold"]) + len(made["freeze"]) + len(made["order"]), chance.choice(records)
    choices: list[tuple[str, Step]] = [
        ("hold", {"place-hold": {"record": record, "as": f"hold {number}"}}),
        ("hold", {"place-hold": {"source": chance.choice(LABELS), "as": f"hold {number}"}}),
        ("freeze", {"freeze": {"source": chance.choice(LABELS), "for": "20m", "as": f"freeze {number}"}}),
        ("freeze", {"freeze": {"for": chance.choice(["10m", "32d"]), "as": f"freeze {number}"}}),
        ("order", {"revoke": {"record": record, "as": f"order {number}", "ticket": chance.choice("TU")}}),
        ("order", {"revoke": {"all-versions-of": record, "as": f"order {number}", "dry-run": chance.random() < 0.5}}),
        ("order", {"revoke": {"source": chance.choice(LABELS), "as": f"order {number}", "dry-run": True}}),
        ("order", {"revoke": {"record": record, "as": f"order {number}", "purge-not-before": "2026-03-01T14:30:00Z"}}),
        ("holder", {"register-holder": {"holder": "holder", "kind": "SEGMENT_STORE"}}),
        ("holder", {"register-holder": {"holder": "shelves", "kind": "DOCUMENT_STORE"} | _sources(chance)}),
    ]
    choices += [("", {"lift-hold": chance.choice(made["hold"])})] * 3 if made["hold"] else []
    choices += [("", {"unfreeze": chance.choice(made["freeze"])})] * 3 if made["freeze"] else []
    if made["order"] and made["holder"]:
        answer = {"holder": chance.choice(made["holder"]), "order": chance.choice(made["order"])}
        choices += [("", {"acknowledge": answer | {"outcome": chance.choice(OUTCOMES)}})] * 8
    kind, step = chance.choice(choices)
    if kind:
        (value,) = step.values()
        made[kind].append(value.get("as") or value["holder"])
    return step


def _sources(chance: random.Random) -> Step:
    return {"sources": chance.sample(LABELS, 2)} if chance.random() < 0.5 else {}
