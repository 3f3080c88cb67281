"""Pages in Redis, as one run sees and changes them: looked at, claimed, visited."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scrapy_simdedup.index.records import (
    ABOUT,
    OF_MARKUP,
    Claim,
    Kept,
    NewPage,
    Signature,
    Subject,
    pack,
    unpack,
)
from scrapy_simdedup.index.redis.access import Access, Overtaken
from scrapy_simdedup.index.redis.changes import body_cells, cells_of, name_cells
from scrapy_simdedup.index.redis.record import Record
from scrapy_simdedup.index.redis.sight import Answer, Question
from scrapy_simdedup.index.store import Memory, Plans, Remembered, Sight

# A page goes by so many names at most; the ones that it was not asked for by lately go first.
_MOST_IDENTITIES = 8


class RedisPages:
    """The kept pages and items of an index in Redis."""

    def __init__(self, access: Access, remembered: Callable[[bytes | None], Remembered | None]):
        self._access = access
        self._remembered = remembered
        self._question: Question | None = None
        self._answer: Answer | None = None
        # The records of this judgement, by page.
        self._read: dict[int, Record] = {}
        # What a claim that came too late was answered: the same question need not be asked again.
        self._fresh: Answer | None = None
        #: How many keys were left out for being crowded.
        self.crowded = 0
        #: The claim of this judgement.
        self.claim: Claim | None = None

    def look(self, subject: Subject, plans: Callable[[], Plans]) -> Sight:
        """Look at what goes by the subject's names, and at what methods look up, at once."""
        layout = self._access.layout
        question = Question(
            subject.space, layout, name_cells(layout, subject.space, subject.identities)
        )
        question.add(plans())
        answer, self._fresh = self._fresh or self._ask(question), None
        self._question, self._answer = question, answer
        found = self._access.read(answer.records)
        own = self._kept(found, answer.pages(0, len(question.names)))

        def rows() -> Sequence[Sequence[tuple[int, int, int]]]:
            rows, crowded = question.rows(answer)
            self.crowded += crowded
            return rows

        return Sight(lambda: own, rows)

    def recollect(self, subject: Subject, memory: str) -> Memory:
        """Look at what goes by the subject's names, and by its body."""
        layout = self._access.layout
        names = name_cells(layout, subject.space, subject.identities)
        bodies = body_cells(layout, subject.space, subject.body)
        question = Question(
            subject.space, layout, [*names, *bodies], memory if subject.body else ""
        )
        answer = self._ask(question)
        found = self._access.read(answer.records)
        own = self._kept(found, answer.pages(0, len(names)))
        equal = self._kept(found, answer.pages(len(names), len(bodies)))
        return Memory(
            lambda: own,
            lambda: [kept for kept in equal if kept.body == subject.body],
            lambda: self._remembered(answer.memory),
        )

    def _ask(self, question: Question) -> Answer:
        def ask() -> Answer:
            arguments = question.arguments(self._access.run.index, self._access.keys.pages)
            return self._answered(self._access.link.run("look", self._keys(question), arguments))

        return self._access.asking(ask)

    def _answered(self, answer: list[object]) -> Answer:
        read = Answer.read(answer)
        self._access.run.sees(read.live)
        self._access.notices |= bool(read.notices)
        return read

    def _keys(self, question: Question, rows: Sequence[str] = ()) -> list[str]:
        keys, run = self._access.keys, self._access.run
        number = run.number
        fixed = [keys.meta, keys.live, keys.notices + run.log, keys.run(number), keys.open(number)]
        return [*fixed, keys.held, question.memory, *question.keys(), *rows]

    def _kept(self, found: Mapping[int, Record], pages: Sequence[int]) -> list[Kept]:
        kept = []
        self._read.update(found)
        for page in sorted(pages):
            if page in found:
                try:
                    kept.append(found[page].kept(page))
                except ValueError as error:
                    self._access.tell_of(page, error)
        return kept

    def load(self, pages: Sequence[int]) -> list[Kept]:
        """Return the pages of those numbers that are still stored, oldest first."""
        return self._kept(self._access.records(pages), pages)

    def insert(self, page: NewPage) -> Claim:
        """Claim a page with all its rows. Raises Overtaken where there is more to be seen now."""
        access = self._access
        record = self._new(page)
        answer = access.link.run("look", *self.claiming(record))
        access.unsure = None
        if not isinstance(answer, int):
            self._fresh = self._answered(answer)
            raise Overtaken
        access.run.last_page = max(access.run.last_page, answer)
        access.wrote(answer, record)
        self.claim = Claim(answer, access.run.number, new=True)
        return self.claim

    def claiming(self, record: Record) -> tuple[list[str], list[Any]]:
        """Return the keys and arguments by which the script claims a page.

        It does so only if what has been looked at is the same; if nothing has been, in any case.
        """
        access, question = self._access, self._question
        stamp = self._answer.stamp if self._answer else b""
        question = question or Question(record.space, access.layout, [])
        named, others = cells_of(access.layout, record, access.rows_of)
        rows = [*named, *others]
        arguments = [
            *question.arguments(access.run.index, access.keys.pages),
            *(stamp, access.token(), len(rows), len(named), record.pack(), access.life),
            *(cell.start for cell in rows),
        ]
        return self._keys(question, [cell.bucket for cell in rows]), arguments

    def _new(self, page: NewPage) -> Record:
        subject, run = page.subject, self._access.run.number
        return Record(
            subject.url,
            subject.space,
            run,
            False,
            page.replaces,
            subject.identities,
            subject.body,
            page.digest,
            page.terms,
            pack(page.signature),
            run,
            None,
            int(time.time()),
            1,
        )

    def visit(self, kept: Kept, subject: Subject, signature: Signature, *, alone: bool) -> Claim:
        """Note that a kept page was seen again, unchanged, by the subject's request.

        Raises Overtaken where its record is not as it was when it was read.
        """
        access = self._access
        before = self._read[kept.id]
        asked = subject.identities[0]
        names = list(dict.fromkeys((asked, *before.identities)))
        after = before.changed(
            seen=access.run.number,
            previous=before.seen if before.previous is None else before.previous,
            met=int(time.time()),
            visits=before.visits + 1,
            identities=tuple(names[:_MOST_IDENTITIES]),
        )
        change, layout, space = access.change(), access.layout, before.space
        if subject.body != before.body or ABOUT in signature.keys() - kept.signature.keys():
            # What came in other markup than last time: the same will come the next time.
            after = after.changed(body=subject.body, signature=_renewed(before, signature))
            change.cut_rows(kept.id, body_cells(layout, space, before.body))
            change.add_rows(kept.id, body_cells(layout, space, subject.body))
        if asked not in before.identities:
            change.add_rows(kept.id, name_cells(layout, space, [asked]))
        change.cut_rows(kept.id, name_cells(layout, space, names[_MOST_IDENTITIES:]))
        change.store(kept.id, before, after, met=True)
        access.step(change, kept.id)
        access.wrote(kept.id, after)
        self.claim = Claim(kept.id, access.run.number, new=False, alone=alone)
        return self.claim

    def settled(self, page: int) -> bool:
        """Tell whether no open claim was on a page when this judgement read it."""
        return self._read[page].settled

    def lean(self, page: int, copy: str) -> None:
        """Note that a copy rests on the open claim on a page. Raises Overtaken."""
        change = self._access.change()
        change.same(page, self._read[page])
        change.do("RPUSH", self._access.keys.copies(page), copy)
        if not self._access.commit(change):
            raise Overtaken
        self._access.run.last_page = max(self._access.run.last_page, page)

    def going_by(self, record: Record) -> dict[int, Record]:
        """Return the pages that go by one of the names of another one."""
        layout = self._access.layout
        question = Question(
            record.space, layout, name_cells(layout, record.space, record.identities)
        )
        return self._access.read(self._ask(question).records)

    def forget(self) -> None:
        """Forget what was looked at: another judgement begins."""
        self._question = self._answer = self._fresh = self.claim = None
        self._read.clear()

    def again(self) -> None:
        """Forget what was looked at, but for what has been seen since: it is judged anew."""
        self._question = self._answer = self.claim = None


def _renewed(record: Record, signature: Signature) -> bytes:
    """Return a page's signature with what another one says of the markup."""
    merged = {
        name: part for name, part in unpack(record.signature).items() if name not in OF_MARKUP
    }
    merged |= {name: signature[name] for name in (*OF_MARKUP, ABOUT) if name in signature}
    return pack(merged)
