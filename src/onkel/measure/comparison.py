"""Several models on one stream: every table of rows is learnt by all of them before the next one is read.

A learner with a seed runs once for each seed. If rows are shuffled, each seed also gives another order of the rows, and the stream
is read once for each of them.

contenders = [Contender("PKAWV", model), …]
comparison = Comparison(contenders, opened_for(contenders, "prices.csv"), seeds=20)
for rows in comparison.steps(): ...            # the number of rows that all models have learnt so far
comparison.finish()                            # contender.results: one `Result` for each seed
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from onkel.combine.assembly import called
from onkel.combine.settings import reseeded
from onkel.data.order import Shuffled
from onkel.data.reading import Reading
from onkel.data.table import Table
from onkel.errors import InputError
from onkel.measure.advice import on_no_rows
from onkel.measure.engine import Evaluation, Result
from onkel.measure.errors import Means, headline_of
from onkel.model import Model, Stream
from onkel.protocol import suited, tasks_of


def nothing(table: Table) -> None:
    """Do nothing with a table."""


class Pass(NamedTuple):
    """One pass through all rows. In it, every learner with a seed runs once for each of `seeds`."""

    seeds: Sequence[int]
    stream: Stream


@dataclass
class Contender:
    name: str
    model: Model
    runs: list[Evaluation] = field(default_factory=list)  # one for each seed
    results: list[Result] = field(default_factory=list)


@dataclass
class Comparison:
    contenders: list[Contender]
    stream: Stream
    seeds: int = 1
    passes_done: int = 0
    observe: bool = False  # whether its results are observed for a report
    seen: Callable[[Table], None] = nothing  # called with all tables of the first pass

    @cached_property
    def passes(self) -> list[Pass]:
        """One pass for all seeds; if rows are shuffled, one for each seed, each in a different order."""
        source = self.stream.source
        if not isinstance(source, Shuffled):
            return [Pass(range(self.seeds), self.stream)]
        orders = [dataclasses.replace(source.order, seed=source.seed + k) for k in range(self.seeds)]
        sources = [dataclasses.replace(source, order=order) for order in orders]
        return [Pass(range(k, k + 1), dataclasses.replace(self.stream, source=one)) for k, one in enumerate(sources)]

    def steps(self, learning: Callable[[str], None] = lambda name: None) -> Iterator[int]:
        """Learn table after table. Yields, before each table and at the end of each pass, the number of rows that all models have
        learnt. When it yields the first 0, all compiled code is loaded.

        `learning` is called with the name of each learner before it learns a table.
        """
        done = 0
        for seeds, stream in self.passes:
            running = [(one.name, run) for one in self.contenders for run in _begun(one, stream, seeds)]
            for _, run in running if self.observe else ():
                run.observe()
            for table in stream.tables() if self.passes_done else stream.tables_after(0, self.seen):
                if done == 0 and len(table):
                    for _, run in running:
                        run.warm_up(table)
                yield done
                for name, run in running:
                    learning(name)
                    run.learn(table)
                done += len(table)
            self.passes_done += 1
            yield done

    def error(self) -> Means:
        """The first metric of the first learner, over the rows so far."""
        return headline_of(self.contenders[0].runs[-1].errors)

    @property
    def is_complete(self) -> bool:
        return self.passes_done == len(self.passes)

    def cut(self) -> str:
        """To be called if `steps` was left early. Keeps only the complete passes or, if there are none, the rows so far, which all
        models have learnt. Returns a sentence that says what was kept; empty if no row was learnt."""
        if self.passes_done:
            for one in self.contenders:
                one.runs = one.runs[: self.passes_done]
            return f"the figures are of {self.passes_done} of {len(self.passes)} orders of the rows"
        rows = self.contenders[0].runs[0].errors.rows if self.contenders[0].runs else 0
        return f"the figures are of the first {rows:,} rows{' in the first order' * (len(self.passes) > 1)}" if rows else ""

    def finish(self) -> None:
        """Make the results."""
        stream, first = self.passes[0].stream, self.contenders[0].runs[0]
        if not first.errors.rows:
            raise InputError(on_no_rows(first.state, stream))
        for one in self.contenders:
            one.results = [run.result(stream) for run in one.runs]


def opened_for(contenders: Sequence[Contender], rows: Any, reading: Reading) -> Stream:
    """One stream for all learners. If one of them knows only classes, the target is read as classes for all.

    A learner whose default loss does not suit the target gets one that does, and its name then shows it.
    """
    models = [one.model for one in contenders]
    asked = next((model for model in models if tasks_of(model.learner) == {"classification"}), models[0])
    stream = asked.open(rows, reading)
    for one in contenders:
        if (suitable := suited(one.model.learner, stream.target.task)) != one.model.learner:
            taken = called(suitable) in {other.name for other in contenders}
            one.model, one.name = dataclasses.replace(one.model, learner=suitable), one.name if taken else called(suitable)
    return stream


def _begun(one: Contender, stream: Stream, seeds: Sequence[int]) -> list[Evaluation]:
    """One run for each seed; a learner without a seed runs once."""
    learner = one.model.learner
    is_random = reseeded(learner, 1) != learner
    models = [dataclasses.replace(one.model, learner=reseeded(learner, seed)) for seed in (seeds if is_random else seeds[:1])]
    begun = [Evaluation.begin(model, stream) for model in models]
    one.runs += begun
    return begun
