"""The guide to holding copies is true: its commands run as they stand, and its twenty lines are the example's."""

from __future__ import annotations

import json
import re
import shlex
import threading
from hashlib import sha256

from discreet.client.purge import Holder, HolderKind, Outcome
from tests.e2e.conftest import Running
from tests.tidy.tree import ROOT

GUIDE = (ROOT / "docs" / "guides" / "holders.md").read_text("utf-8")
EXAMPLE = (ROOT / "docs" / "examples" / "holder" / "holder.py").read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The guide's blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def stock(server: Running, *names: str) -> None:
    """Registers documents."""
    documents = [
        {"record_id": name, "version": "1", "digest": sha256(name.encode()).hexdigest(), "source_label": "peps",
         "scopes": ["public"], "assessment_expires_at": "2099-12-31T00:00:00Z"}
        for name in names
    ]  # fmt: skip
    assert server("index", "put", "-", stdin=json.dumps(documents)).code == 0


def revoke(server: Running, name: str) -> str:
    """The order's id."""
    words = ("index", "revoke", name, "1", "--reason", "asked to", "--ticket", "T-1", "--yes", "-o", "json")
    told = server(*words)
    assert told.code == 0, told.err
    order_id: str = told.tree["purge_order_id"]
    return order_id


def test_the_twenty_lines_are_those_of_the_example() -> None:
    """What the guide shows is what the tests run."""
    assert blocks("python")[0].strip() in EXAMPLE


def test_every_command_of_the_guide_does_what_it_says(server: Running) -> None:
    """F3 at the command line: each line, in its order, ends with 0, in either form."""
    stock(server, "notes/a")
    order = revoke(server, "notes/a")
    for line in blocks("sh")[0].splitlines():
        words = [order if word == "ORDER_ID" else word for word in shlex.split(line)[1:]]
        for form in ([], ["-o", "json"]) if words[1] != "remove" else ([],):
            told = server(*words, *form)
            assert told.code == 0, (line, told.err)


def test_what_failed_is_shown_and_ends_with_its_code(server: Running) -> None:
    """RET-08: which holder, why, and an exit code that a script sees."""
    stock(server, "notes/a", "notes/b")
    where = f"unix:{server.process.sockets / 'holder.sock'}"
    holder = Holder(where, tenant="marlowe")
    assert holder.register(HolderKind.DOCUMENT_STORE, ["peps"]) == 0

    def purge(item: object) -> Outcome:
        if getattr(item, "record_id", "") == "notes/b":
            raise OSError("the disk of the thread store")
        return Outcome.PURGED

    working = threading.Thread(target=holder.run, args=(purge, lambda _: False))
    working.start()
    try:
        first, second = revoke(server, "notes/a"), revoke(server, "notes/b")
        told = server("purge", "status", "--check")
        while "OSError" not in told.out:
            told = server("purge", "status", "--check")
        assert (told.code, "1 have failed items" in told.err) == (8, True)
        assert server("purge", "status").code == 0
        listed = server("purge", "orders", "-o", "json").tree["orders"]
        assert {one["order_id"]: one["done"] for one in listed} == {first: True, second: False}
        assert [one["order_id"] for one in server("purge", "orders", "--open", "-o", "json").tree["orders"]] == [second]
        assert server("purge", "orders", "--overdue", "-o", "json").tree["orders"] == []
        (item,) = server("purge", "items", second, "-o", "json").tree["items"]
        assert (item["state"], item["failure"], item["item"]["record"]["record_id"]) == ("FAILED", "OSError", "notes/b")
        assert "the disk" not in server("purge", "items", second).out
        assert all(word in server("purge", "orders").out for word in ("failed", "done", first, "holder"))
        assert "DOCUMENT_STORE" in server("holder", "list").out
    finally:
        holder.close()
        working.join(20)


def test_a_secret_is_printed_once(server: Running) -> None:
    """F3: the operator gets the webhook's secret when it is made, and never again."""
    words = ("holder", "register", "mirror", "--keeps", "documents", "--webhook", "https://127.0.0.1:1/purge")
    first = server(*words)
    assert re.search(r"webhook secret, told here alone: [0-9a-f]{64}", first.err + first.out)
    assert "secret" not in server(*words).out + server(*words).err
    refused = server("holder", "register", "mirror", "--keeps", "documents", "--webhook", "http://elsewhere.example/")
    assert (refused.code, "webhook_url" in refused.err) == (2, True)
    assert server("holder", "remove", "nobody", "--reason", "r").code == 2
