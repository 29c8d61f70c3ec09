"""Stands in for a retriever and a model: answers every question with three notes, word by word.

It does what a real one must: a note is read after RETRIEVE said that this reader may have it, and every bit of text
says which note it rests on.
"""

from collections.abc import AsyncIterator

from discreet.client import AsyncClient, Binding, Delta, End, Grounding, digest

NOTES = {
    "notes/rates": "The committee left the rate where it was.",
    "notes/outlook": "It expects prices to rise more slowly from the spring on.",
    "notes/dissent": "Two of nine members would have lowered it.",
}


class Notes:
    """The three notes, one segment each."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def write(self, question: str, reader: str, session: str, begun: int) -> AsyncIterator[Delta | End]:
        """The answer from its segment number `begun` on."""
        del question
        for record_id in list(NOTES)[begun:]:
            found = await self._client.filter(
                [record_id],
                key=lambda name: Binding(name, "1", digest(NOTES[name])),
                principal=reader,
                session_id=session,
            )
            for kept in found:
                for word in NOTES[kept.candidate].split():
                    yield Delta(f"{word} ", (kept.binding,))
            if not found:
                yield Delta(found.text, kind="small-talk", grounding=Grounding.UNBOUND)
            yield End()
