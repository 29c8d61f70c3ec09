"""A holder's own HTTP server, that keeps what it is posted and answers as it is told to. Tests nothing."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, bytes]


@dataclass(slots=True)
class Hook:
    """What was posted, and how the next posts are answered."""

    answer: Callable[[dict[str, Any]], Answer]
    address: str = ""
    posts: list[tuple[str, bytes]] = field(default_factory=list)
    """Signature and body."""
    gets: int = 0

    def items(self) -> list[tuple[str, int]]:
        """Order and item of everything that was posted."""
        return [(one["order_id"], one["item"]) for _, body in self.posts for one in json.loads(body).get("items", [])]


def purged(post: dict[str, Any]) -> Answer:
    """Answers every item with PURGED, and every recheck with ABSENT."""
    asked = [("PURGED", one) for one in post.get("items", [])] + [("ABSENT", one) for one in post.get("rechecks", [])]
    acks = [
        {"order_id": one["order_id"], "item": one["item"], "outcome": f"PURGE_OUTCOME_{word}"} for word, one in asked
    ]
    return 200, json.dumps({"acks": acks}).encode()


@contextmanager
def hooked(answer: Callable[[dict[str, Any]], Answer], tls: ssl.SSLContext | None = None) -> Iterator[Hook]:
    """A server on loopback, until the block ends."""
    hook = Hook(answer)

    class Handler(BaseHTTPRequestHandler):
        """Keeps the post."""

        def do_POST(self) -> None:
            """One post."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.posts.append((self.headers["Discreet-Signature"], body))
            status, reply = hook.answer(json.loads(body))
            self.send_response(status)
            if status in (301, 302, 307, 308):
                self.send_header("Location", f"{hook.address}/elsewhere")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def do_GET(self) -> None:
            """What a followed redirect would ask for."""
            hook.gets += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    hook.address = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
