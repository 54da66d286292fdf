"""What Auto decided: the weights of its experts over time, and its regret beside its bound."""

from __future__ import annotations

import math

import numpy as np

from onkel.measure import Explanation
from onkel.measure.explain import Compared
from onkel.report.html.bars import bar
from onkel.report.html.chart import Chart, Line, figure
from onkel.report.html.colours import role
from onkel.report.html.contents import Contents, Section
from onkel.report.html.markup import Html, element, joined, table, text
from onkel.report.results import counted, written

EXPERTS_SHOWN = 8


def decided(contents: Contents) -> Section | None:
    found = [
        (name, one) for name, one in contents.results.items() if one.explanation is not None and _has_snapshots(one.explanation)
    ]
    if not found:
        return None
    name, result = found[0]
    explanation = result.explanation
    assert explanation is not None
    count = counted(len(explanation.experts), "expert")
    intro = f"{name} runs {count} side by side and mixes their answers by what each has been worth so far."
    parts = [element("p", intro), _weights(explanation), _experts(explanation), _regret(explanation)]
    return Section("decided", "What Auto decided" if name.startswith("Auto") else f"What {name} decided", joined(parts))


def _has_snapshots(explanation: Explanation) -> bool:
    """Whether weights were noted yet: the first are all alike."""
    return explanation.history is not None and len(explanation.history.rows) > 0


def _weights(explanation: Explanation) -> Html:
    history = explanation.history
    if history is None or not len(history.rows):
        return text("")
    rows, weights = history.rows, history.weights
    if explanation.rows > rows[-1]:  # the weights now
        rows, weights = np.append(rows, explanation.rows), np.vstack([weights, explanation.weights])
    if len(rows) < 2:
        return text("")
    size = np.abs(weights)
    shares = size / np.maximum(size.sum(axis=1, keepdims=True), 1e-300)
    kinds = list(dict.fromkeys(expert.kind for expert in explanation.experts))
    of_kinds = {kind: shares[:, [expert.kind == kind for expert in explanation.experts]].sum(axis=1) for kind in kinds}
    order = sorted(of_kinds, key=lambda kind: -float(of_kinds[kind][-1]))
    colours = {kind: role(k) for k, kind in enumerate(kinds)}
    lines = [Line(kind, of_kinds[kind], colours[kind], f"{of_kinds[kind][-1]:.0%}") for kind in order]
    top = order[0]
    summary = (
        f"At the end, experts of the kind {top} have {of_kinds[top][-1]:.0%} of the weight, after {of_kinds[top][0]:.0%} at first."
    )
    chart = Chart(
        "weights", "Share of each kind of expert in the mixture", summary, rows, "rows of the stream",
        "share of the absolute weights", lines, share=True, ends=(0.0, 1.0),
    )  # fmt: skip
    return figure(chart)


def _experts(explanation: Explanation) -> Html:
    order = np.argsort(-explanation.shares)[:EXPERTS_SHOWN]
    rows = []
    for k in order.tolist():
        expert, loss = explanation.experts[k], float(explanation.losses[k])
        forgets = (
            "–"
            if expert.forgetting is None
            else "never"
            if expert.forgetting >= 1.0
            else f"after about {1.0 / (1.0 - expert.forgetting):,.0f} rows"
        )
        uses = "yes" if expert.lagged else "no"
        ridge = written(expert.lam) if expert.lam else "–"
        rows.append(
            [expert.family, ridge, uses, forgets, f"{explanation.weights[k]:+.3f}", "–" if math.isnan(loss) else written(loss)]
        )
    caption = f"The {len(rows)} experts with the largest weights, of {len(explanation.experts)}; a negative weight subtracts"
    headings = ["expert", "ridge λ", "uses earlier labels", "forgets", "weight", "mean square error"]
    return table(caption, headings, rows, numeric=(1, 4, 5), shown=True)


def _regret(explanation: Explanation) -> Html:
    both = {
        "the best single expert": explanation.to_expert,
        "the best fixed combination of experts": explanation.to_combination,
    }
    known = {name: one for name, one in both.items() if one is not None}
    if not known:
        return text("")
    largest = max((value for one in known.values() for value in (one.regret, one.bound) if math.isfinite(value)), default=0.0)
    rows = [[name, written(one.regret), _bound(one), bar([one.regret, one.bound], largest)] for name, one in known.items()]
    has_bars = any(one.bound > 0.0 and math.isfinite(one.bound) for one in known.values())
    headings = ["compared with", "regret", "at most, proven", "regret (dark) and bound (light)"][: 3 + has_bars]
    intro = (
        "Regret: how much more the mixture has lost (the sum of its square errors over the last "
        f"{counted(explanation.since, 'row')}) than the best expert, or the best fixed combination of experts, which can be "
        "picked only in hindsight. Below 0 the mixture has lost less. The bound is proven for any stream, also for the worst."
    )
    made = table("Regret and its bound", headings, [row[: 3 + has_bars] for row in rows], (1, 2), "regret" if has_bars else "")
    return joined([element("h3", "Regret beside its bound"), element("p", intro), made])


def _bound(one: Compared) -> str:
    return written(one.bound) if math.isfinite(one.bound) else "no bound is known"
