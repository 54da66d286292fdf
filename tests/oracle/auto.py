"""Auto from its parts' definitions: every expert by itself, dense matrices and one solve a score, then the rule over their scores.

The plan (which families, with which features) is the learner's own; what each of them does is written again here, with the oracles
of feature maps, neighbours, trees and rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import onkel
from onkel.combine.auto.families import DiagonalLinear, ForgettingRidge, Logistic, Nearest, RememberingRidge, Trees
from onkel.combine.auto.state import RULE
from tests.oracle import neighbours, random_trees, rules
from tests.oracle.pkawv import Mask, features

Array = NDArray[np.float64]


def scores(learner: onkel.Auto, X: Array, y: Array, weight: Array | None = None) -> Array:
    """The score of each row before it is learnt."""
    w = np.ones(len(X)) if weight is None else weight
    Y, plan = accepted(y.reshape(len(X), -1), w), learner._plan(X.shape[1])
    start = int(np.argmax(w > 0))
    stream = Stream(learner, X, Y, w, np.where(np.all(y.reshape(Y.shape) == Y, axis=1), w, 0.0), Y[start])
    views = seen(learner, X, Y, w)
    parts = [experts(family, views, Y - Y[start], w) + Y[start][:, None] for family in plan.families]
    for part in parts:
        part[:start], part[start] = 0.0, Y[start][:, None]
    awake = np.tile(plan.starts[plan.family_of], (len(X), 1))
    pieces = [] if plan.lines_only else checks(stream, plan, parts, awake)
    P = np.concatenate(parts, axis=2)
    mixture = rules.mixture(RULE, P, Y, w, awake)
    for now, since, again in pieces:
        rows, who = np.append(since, range(now, len(X))), np.vstack([np.tile(awake[now], (len(since), 1)), awake[now:]])
        weights = np.append(stream.trusted[since], w[now:])
        mixture[now:] = rules.mixture(RULE, np.concatenate([again, P[now:]]), Y[rows], weights, who)[len(since) :]
    mixture[: start + 1] = 0.0
    return mixture.reshape(y.shape)


class Stream(NamedTuple):
    learner: onkel.Auto
    X: Array
    Y: Array  # as accepted
    w: Array
    trusted: Array  # weights, 0 where a label was cut
    first: Array  # label


class Known(NamedTuple):
    """The rows that views of inputs know: these at first, then those of the stream from row `start` on."""

    first: Any = ()
    start: int = 0
    scales: tuple[Scale, ...] = ()

    def until(self, now: int) -> Known:
        """What was known at row `now`."""
        return self._replace(scales=tuple(scale for scale in self.scales if scale.now <= now))

    def rows(self, stream: Stream, now: int) -> Any:
        """All rows learnt before row `now`."""
        later = np.arange(self.start, now)
        return np.append(self.first, later[stream.w[later] > 0]).astype(int)

    def settled(self, stream: Stream, now: int) -> Known:
        """From row `now` on, the scales of all rows before it."""
        X = stream.X[self.rows(stream, now)]
        return self._replace(scales=(*self.until(now - 1).scales, Scale(now, X.mean(axis=0), X.var(axis=0), len(X))))

    def rescaled(self, stream: Stream, now: int) -> Known:
        """The same, for columns whose mean is half a deviation away, or whose deviation is twice or half as large."""
        X, used = stream.X[self.rows(stream, now)], self.scales[-1]
        ratio = np.sqrt(X.var(axis=0) / used.variance)
        moved = (np.abs(X.mean(axis=0) - used.mean) > 0.5 * np.sqrt(used.variance)) | (ratio > 2) | (ratio < 0.5)
        if not moved.any():
            return self
        mean, variance = np.where(moved, X.mean(axis=0), used.mean), np.where(moved, X.var(axis=0), used.variance)
        return self._replace(scales=(*self.scales, Scale(now, mean, variance, used.rows)))


class Scale(NamedTuple):
    """From row `now` on, the views have the mean and the variance of so many rows, and of the row itself."""

    now: int
    mean: Array
    variance: Array
    rows: int

    def of(self, X: Array) -> Array:
        """X in these scales."""
        n, away = self.rows, X - self.mean
        variance = n / (n + 1) * (self.variance + away**2 / (n + 1))
        return np.clip(np.where(variance > 0, away * n / (n + 1) / np.sqrt(np.where(variance > 0, variance, 1.0)), 0.0), -8, 8)


class Began(NamedTuple):
    """A family began with the rows `since`, just before row `now`."""

    since: Any = ()
    now: int = 0


class Heard(NamedTuple):
    """A row that the rule has learnt."""

    P: Array  # (outputs, experts)
    y: Array
    w: float


def checks(stream: Stream, plan: Any, parts: list[Array], awake: Mask) -> list[tuple[int, Any, Array]]:
    """Replace the scores of families that begin, from the row after the check on, and say who is awake from there on.

    Where the rule begins again: from which row on, with which rows, and with which scores of them.
    """
    Y, w, families = stream.Y, stream.w, plan.families
    learnt, began = np.flatnonzero(w > 0), dict.fromkeys(range(len(parts)), 0)
    origin = dict.fromkeys(range(len(parts)), Began())
    pieces, lags = list[tuple[int, Any, Array]](), {k: list[float]() for k in range(len(parts))}
    begins_with = set(np.flatnonzero(plan.starts).tolist())
    on, tried, due, reviewed, heard, known = set(begins_with), set(begins_with), plan.first_review, 0, list[Heard](), Known()
    scaled_families = {k for k in begins_with if not isinstance(families[k], Trees)}
    settlements, before = {rows for rows in (32, 64, 128, 256, 512) if rows <= 2 * plan.check}, 0
    for rows in range(1, len(learnt) + 1):
        now = int(learnt[rows - 1] + 1)
        seen_by_views = len(known.rows(stream, now))
        if rows % plan.check and seen_by_views not in settlements:
            continue
        last = learnt[max(0, rows - 2 * plan.check) : rows]
        heard += [Heard(np.concatenate([part[t] for part in parts], axis=1), Y[t], w[t]) for t in learnt[before:rows]]
        before = rows
        if seen_by_views in settlements:
            known, scores, last = known.settled(stream, now), list[Array](), last[-seen_by_views:]
            for k, part in enumerate(parts):
                scores.append(part[last].copy())
                if k in scaled_families | (begins_with - on):
                    again = begun(stream, families[k], last, now, known)
                    scores[k], part[now:] = again[: len(last)], again[len(last) :]
                    origin[k], began[k], lags[k] = Began(last, now), rows - len(last), []
            pieces.append((now, last, np.concatenate(scores, axis=2)))
            heard = [Heard(row, Y[t], stream.trusted[t]) for row, t in zip(pieces[-1][2], last, strict=True)]
            on, tried, due, reviewed = set(begins_with), set(begins_with), rows - len(last) + plan.first_review, 0
            awake[now:] = np.isin(plan.family_of, sorted(on))
            continue
        if (moved_to := known.rescaled(stream, now)) is not known:
            known = moved_to
            for k, part in enumerate(parts):
                if isinstance(families[k], ForgettingRidge) and k in on:
                    origin[k], began[k] = Began(last, now), rows - len(last)
                if k in on and not isinstance(families[k], Trees):
                    part[now:] = begun(stream, families[k], *origin[k], known)[len(origin[k].since) + now - origin[k].now :]
        errors = [np.abs(part[last] - Y[last][:, :, None]).sum(axis=1) for part in parts]
        forgetting = np.hstack([errors[k] for k in sorted(on) if isinstance(families[k], ForgettingRidge)])
        before_now, begins, suspected, anew = [part[:now].copy() for part in parts], None, dict[int, Any](), set[int]()
        for k in sorted(on):
            if isinstance(families[k], ForgettingRidge) or rows - began[k] < 2 * plan.check:
                continue
            usual = lately(lags[k])
            for window in (plan.check, 2 * plan.check):
                best, rival = (E[:, np.argmin(E[-window:].mean(axis=0))] for E in (errors[k], forgetting))
                behind = (best - rival)[-window:]
                both = (best + rival)[-window:].mean() + 1e-9 * np.abs(Y[last]).sum(axis=1).mean()
                lag, noise = behind.mean() / both, behind.std() / np.sqrt(window) / both
                if k not in suspected and lags[k] and usual < 0.1 and lag > max(0.0, usual + 4.0 * noise):
                    best_before = errors[k][:, np.argmin(errors[k][: plan.check].mean(axis=0))]
                    suspected[k] = rows_since(last, best_before - rival - (max(0.0, usual) + lag) / 2.0 * both)
                if window == plan.check:
                    latest = lag
            lags[k].append(latest)
        moved = moved_since(stream, known, now, last, plan.check)
        if moved is not None:
            again = begun(stream, families[0], moved, now, Known(moved, now).settled(stream, now))
            alone = 0 in suspected or rows - began[0] < 2 * plan.check
            if does_better(again, Y, moved, [parts[k] for k in ([0] if alone else on)]):
                begins, known, anew = moved, Known(moved, now).settled(stream, now), scaled_families
        for k, since in suspected.items():
            again = begun(stream, families[k], since, now, known)
            if k not in anew and does_better(again, Y, since, [parts[k]]):
                before_now[k][since], parts[k][now:] = again[: len(since)], again[len(since) :]
                began[k], begins, lags[k] = rows - len(since), since if k == 0 else begins, []
                origin[k] = Began(since, now)
        if begins is not None:
            for k in (begins_with - on) | anew:
                again = begun(stream, families[k], begins, now, known)
                before_now[k][begins], parts[k][now:] = again[: len(begins)], again[len(begins) :]
                began[k], lags[k], origin[k] = rows - len(begins), [], Began(begins, now)
            P = np.concatenate(before_now, axis=2)
            pieces.append((now, begins, P[begins]))
            heard = [Heard(P[t], Y[t], stream.trusted[t]) for t in begins]
            on, tried, due, reviewed = set(begins_with), set(begins_with), rows - len(begins) + plan.first_review, 0
        elif rows >= due:
            dropped, woken = review(plan, products(heard, reviewed), len(heard) - reviewed, on, tried)
            for k in woken:
                parts[k][now:] = begun(stream, families[k], last, now, known)[len(last) :]
                began[k], lags[k], origin[k] = rows - len(last), [], Began(last, now)
            on, tried, due, reviewed = (on - dropped) | woken, tried | woken, 2 * rows, len(heard)
        awake[now:] = np.isin(plan.family_of, sorted(on))
    return pieces


def rows_since(last: Any, excess: Array) -> Any:
    """Those of the last rows from which on the excess sums to most, less a twentieth."""
    since = last[int(np.argmax([np.sum(excess[t:]) for t in range(len(last))])) :]
    return since[len(since) // 20 :]


def moved_since(stream: Stream, known: Known, now: int, last: Any, check: int) -> Any:
    """The rows since an input moved, by its squares, if it did among the last rows, and half a check ago or more; else None."""
    rows = np.concatenate([known.first, np.arange(known.start, now), last]).astype(int)
    learnt = np.concatenate([np.ones(len(known.first)), stream.w[known.start : now], np.zeros(len(last))]) > 0
    Z = features(onkel.Standardize(8.0), stream.X[rows], learnt)[-len(last) :]
    squares = max((Z**2).T, key=lambda column: column[-check:].mean())
    excess = squares - (1.0 + squares[-check:].mean()) / 2.0
    place = int(np.argmax([np.sum(excess[t:]) for t in range(len(last))]))
    is_moved = squares[-check:].mean() > 4.0 and place > 0 and len(last) - place >= check // 2
    return rows_since(last, excess) if is_moved else None


def does_better(again: Array, Y: Array, since: Any, others: list[Array]) -> bool:
    """Whether the best of a family that has begun again errs less than the best of the others, in the second half of the rows."""
    half = len(since) // 2
    late = since[half:]
    return least_error(again[half : len(since)], Y[late]) < 0.95 * min(least_error(other[late], Y[late]) for other in others)


def products(heard: list[Heard], start: int) -> Array:
    """Σ w e eᵀ over these rows and all outputs, from number `start` on; e = y − p, with p cut to the labels before."""
    E, labels = np.zeros((heard[0].P.shape[1],) * 2), list[Array]()
    for n, row in enumerate(heard):
        P = np.clip(row.P, np.min(labels, axis=0)[:, None], np.max(labels, axis=0)[:, None]) if labels else row.P
        e = row.y[:, None] - P
        E += row.w * e.T @ e if n >= start else 0.0
        labels += [row.y] if row.w > 0 else []
    return E


def review(plan: Any, E: Array, n: int, on: set[int], tried: set[int]) -> tuple[set[int], set[int]]:
    """Who is dropped, and who wakes."""

    def loss(families: set[int]) -> float:
        own = np.isin(plan.family_of, sorted(families))
        part = E[own][:, own]
        return float(1 / np.linalg.inv(part + 1e-9 * np.mean(np.diag(part)) * np.eye(len(part))).sum())

    def worth_of(k: int, families: set[int]) -> float:
        return loss(families - {k}) / loss(families) - 1 - float(np.sum(plan.family_of == k)) / n

    left, worth = set(on), {k: worth_of(k, on) for k in on}
    while True:
        forget = [k for k in left if isinstance(plan.families[k], ForgettingRidge)]
        spare = [k for k in left if k > 0 and forget != [k] and worth_of(k, left) < 0.0002]
        if not spare:
            break
        left.remove(max(spare, key=lambda k: (plan.costs[k], -k)))
    woken = set[int]()
    for k, beside in sorted(plan.zooms.items(), key=lambda zoom: -worth.get(zoom[1], 0.0)):
        affordable = sum(plan.costs[j] for j in left | woken | {k}) <= plan.cost_ceiling
        if k not in tried and worth.get(beside, 0.0) >= 0.02 and affordable:
            woken.add(k)
    return on - left, woken


def lately(lags: list[float]) -> float:
    """Their mean; from the ninth on, each counts for an eighth."""
    mean = 0.0
    for n, lag in enumerate(lags, 1):
        mean += (lag - mean) / min(n, 8)
    return mean


def least_error(scores: Array, Y: Array) -> float:
    """Of the best expert."""
    return float(np.abs(scores - Y[:, :, None]).sum(axis=1).mean(axis=0).min())


def begun(stream: Stream, family: Any, since: Any, now: int, known: Known) -> Array:
    """The scores of a family that begins with the rows `since`, which it sees as they look now, and goes on with row `now`."""
    learner, X, Y, w, trusted, first = stream
    rows, learnt = np.append(np.arange(now), since).astype(int), np.append(w[:now], np.zeros(len(since)))
    again, later = seen(learner, X[rows], Y[rows], learnt, since, known.until(now)), seen(learner, X, Y, w, (), known)
    views = {name: np.vstack([again[name][now:], view[now:]]) for name, view in later.items()}
    labels = np.vstack([Y[since], Y[now:]]) - first
    return experts(family, views, labels, np.append(trusted[since], w[now:])) + first[:, None]


def accepted(Y: Array, w: Array) -> Array:
    """Labels, with those too far from the fading mean moved to the limit."""
    out = Y.copy()
    for o in range(Y.shape[1]):
        past, distances, largest = list[float](), list[float](), 0.0
        for t in np.flatnonzero(w > 0):
            fading = 0.999 ** np.arange(len(past) - 1.0, -1.0, -1.0)
            mean = float(fading @ past / fading.sum()) if past else float(Y[t, o])
            distance = float(fading @ distances / fading.sum()) if past else 0.0
            away = float(Y[t, o]) - mean
            limit = max(largest, 20 * distance) if len(past) >= 20 and distance > 0 else np.inf
            if abs(away) > limit:
                away, largest = float(np.sign(away)) * limit, 2 * limit
                out[t, o] = mean + away
            largest = max(largest, abs(away))
            past.append(float(out[t, o]))
            distances.append(abs(away))
    return out


def seen(learner: onkel.Auto, X: Array, Y: Array, w: Array, again: Any = (), known: Known | None = None) -> dict[str, Array]:
    """The views of each row; the last ones, rows `again`, come with the earlier labels that they had the first time.

    Before row `known.start` views of inputs are those of rows that nobody has learnt.
    """
    known, learnt = known or Known(), w > 0
    rows = np.append(known.first, np.arange(len(X))).astype(int)
    told = np.append(np.ones(len(known.first), dtype=bool), learnt & (np.arange(len(X)) >= known.start))
    shown = X[rows]
    Z = features(onkel.Standardize(8.0), shown, told)
    for scale in known.scales:
        Z[len(known.first) + scale.now :] = scale.of(X[scale.now :])
    N = Z if X.shape[1] <= 64 else features(onkel.Project(64, learner.seed), Z, told)
    N = np.where(np.abs(N) < 1e-12, 0.0, N)
    U = features(onkel.Ranks(), shown if X.shape[1] <= 64 else N, told)
    Z, N, U = Z[len(known.first) :], N[len(known.first) :], U[len(known.first) :]
    L = np.empty((len(X), 0))
    if learner.lags:
        before = lags(learner.lags, Y, learnt)
        before[len(X) - len(again) :] = before[list(again)]
        L = features(onkel.Standardize(8.0), before, learnt)
    is_sparse = learner._plan(X.shape[1]).lines_only
    S, there = (scaled(X, learnt), X != 0) if is_sparse else (Z, np.ones(X.shape, dtype=bool))
    S, there = np.column_stack([S, np.ones(len(X))]), np.column_stack([there, learnt | True])
    return {
        "X": X,
        "Z": Z,
        "N": N,
        "U": U,
        "L": L,
        "N+L": np.hstack([N, L]),
        "X+L": np.hstack([X, L]),
        "S": S,
        "there": 1.0 * there,
    }


def scaled(X: Array, learnt: Mask) -> Array:
    """Each value that is not 0 over the root of the mean square of all such in its column, itself included; where they are nine
    tenths of the rows or more, in deviations from their mean; cut at ±8."""
    Z = np.zeros(X.shape)
    for t, j in np.argwhere(X):
        column = np.append(X[:t][learnt[:t], j], X[t, j])
        values = column[column != 0]
        if len(values) < 0.9 * len(column):
            Z[t, j] = X[t, j] / np.sqrt(np.mean(values**2))
        elif np.ptp(values) > 0:
            Z[t, j] = (X[t, j] - values.mean()) / values.std()
    return np.clip(Z, -8, 8)


def lags(k: int, Y: Array, learnt: Mask) -> Array:
    """The last labels and two running means, minus the first label, as points of the plane, each output at its angle."""
    turns = np.exp(1j * np.pi * (3 - np.sqrt(5)) * np.arange(Y.shape[1]))
    Y = np.column_stack([Y @ turns.real, Y @ turns.imag])
    out = np.zeros((len(Y), Y.shape[1], k + 2))
    for t in range(len(Y)):
        past = Y[:t][learnt[:t]]
        if len(past):
            past = past - past[0]
            recent = past[::-1][:k].T
            out[t, :, : recent.shape[1]] = recent
        for m, memory in enumerate((10, 100)):
            mean = np.zeros(Y.shape[1])
            for n, u in enumerate(past, 1):
                mean = mean + (u - mean) / min(n, memory)
            out[t, :, k + m] = mean
    return out.reshape(len(Y), -1)


def experts(family: Any, views: dict[str, Array], Y: Array, w: Array) -> Array:
    """(n, outputs, experts)"""
    if isinstance(family, Nearest):
        sides = [views["N"]] + ([views["N+L"]] if family.lags else [])
        return np.stack([neighbours.scores(family.learner, X, Y, w) for X in sides], axis=2)
    if isinstance(family, DiagonalLinear):
        return np.stack([lines(views["S"], views["there"] > 0, Y[:, o], w) for o in range(Y.shape[1])], axis=1)
    if isinstance(family, RememberingRidge | ForgettingRidge | Logistic):
        everybody = np.ones(len(w), dtype=bool)
        V = np.hstack([features(part.features, views[part.view], everybody) for part in family.parts])
        ends = np.cumsum([part.size for part in family.parts])
        if isinstance(family, Logistic):
            return np.stack([odds(family.lam, V, Y[:, o], w) for o in range(Y.shape[1])], axis=1)[:, :, None]
        ridge = np.eye(V.shape[1])
        ridge[0, 0] = 0.0
        return slow(family, V, ends, ridge, Y, w) if isinstance(family, RememberingRidge) else fast(family, V, ends, ridge, Y, w)
    return random_trees.scores(family.learner, views[family.view], Y, w)[:, :, None]


def slow(family: RememberingRidge, V: Array, ends: Array, ridge: Array, Y: Array, w: Array) -> Array:
    """Ridge regression, solved after 8 rows, then after an eighth more, at least 8 and at most 1024; features need half as many
    rows."""
    first = np.zeros_like(ridge)
    first[0, 0] = 1e-4
    chosen = [(family.lams[0], end) for end in ends] + [(family.lams[1], end) for end in ends[len(ends) // 2 :]]
    theta = np.zeros((len(chosen), V.shape[1], Y.shape[1]))
    out, learnt, due = np.zeros((*Y.shape, len(theta))), list[int](), 8
    for t in range(len(V)):
        out[t] = (V[t] @ theta).T
        if w[t] > 0:
            learnt.append(t)
        if len(learnt) == due:
            due += min(max(8, due // 8), 1024)
            A, b = V[learnt].T * w[learnt] @ V[learnt], V[learnt].T * w[learnt] @ Y[learnt]
            most = max(ends[0], *(ends[ends <= 2 * len(learnt)]), 0)
            for k, (lam, end) in enumerate(chosen):
                N = min(end, most)
                solution = np.linalg.solve((A + lam * ridge + first)[:N, :N], b[:N])
                theta[k] = np.pad(solution, ((0, V.shape[1] - N), (0, 0)))
    return out


def fast(family: ForgettingRidge, V: Array, ends: Array, ridge: Array, Y: Array, w: Array) -> Array:
    """Ridge regression with forgetting; the ridge fades too, and is what it was after every block of rows."""
    full = family.lam * ridge
    full[0, 0] = 1e-4
    A, G, b, rows = full, np.zeros_like(full), np.zeros((V.shape[1], Y.shape[1])), 0
    out = np.zeros((*Y.shape, len(ends)))
    for t, v in enumerate(V):
        for p, N in enumerate(ends):
            out[t, :, p] = v[:N] @ np.linalg.solve(A[:N, :N], b[:N])
        if w[t] > 0:
            mu, new = family.forgetting, w[t] * np.outer(v, v)
            A, G, b, rows = mu * A + new, mu * G + new, mu * b + w[t] * np.outer(v, Y[t]), rows + 1
            if rows % family.block == 0:
                A = G + full
    return out


def odds(lam: float, V: Array, y: Array, w: Array) -> Array:
    """Logistic regression of the second value that came against the first, by the extended Kalman filter."""
    A, theta, seen, out, rows = lam * np.eye(V.shape[1]), np.zeros(V.shape[1]), list[float](), np.zeros(len(y)), 0
    for t, v in enumerate(V):
        p = 1 / (1 + np.exp(-np.clip(theta @ v, -30, 30)))
        if seen:
            out[t] = seen[0] + (seen[1] - seen[0]) * p if len(seen) == 2 else seen[0]
        if w[t] > 0:
            if y[t] not in seen:
                seen.append(y[t])
                if len(seen) == 2:
                    theta[0] = -np.log(rows + 1)
            rows += 1
            if len(seen) == 2:
                p = 1 / (1 + np.exp(-np.clip(theta @ v, -30, 30)))
                A = A + w[t] * p * (1 - p) * np.outer(v, v)
                theta = theta + np.linalg.solve(A, v) * w[t] * (float(y[t] == seen[1]) - p)
    return out


def lines(S: Array, there: Mask, y: Array, w: Array) -> Array:
    """Linear regressions with a variance, or a sum of squared slopes, for each column; logistic while labels have two values."""
    settings: list[tuple[float, float, float]] = [(1.0, 1.0, 0.0), (10.0, 1.0, 0.0), (3.0, 0.99, 0.0), (0, 0, 0.05), (0, 0, 0.3)]
    return np.stack([line(S, there, y, w, *setting) for setting in settings], axis=1)


def line(S: Array, there: Mask, y: Array, w: Array, lam: float, memory: float, step: float) -> Array:
    """One of them: a Kalman filter where λ > 0, else AdaGrad."""
    out, labels, theta, spread = np.zeros(len(y)), list[float](), np.zeros(S.shape[1]), np.zeros(S.shape[1])
    for t, z in enumerate(S):
        values = list(dict.fromkeys(labels))
        out[t] = {0: 0.0, 1: values[0] if values else 0.0}.get(len(values), predicted(values, theta @ z))
        if w[t] > 0:
            labels.append(float(y[t]))
            now = list(dict.fromkeys(labels))
            if len(now) == 2 > len(values):
                theta, spread = np.zeros(len(z)), np.full(len(z), 1 / lam if lam else 1e-3)
                theta[-1] = -np.log(len(labels) / 2)
            if len(now) == 3 > len(values):
                size, q = now[1] - now[0], np.clip(np.mean(np.array(labels[:-1]) == now[1]), 0.001, 0.999)
                theta = size * q * (1 - q) * theta
                theta[-1] += size * (q - q * (1 - q) * np.log(q / (1 - q)))
            if len(now) > 1:
                error = y[t] - predicted(now, theta @ z)
                h, unit = 1.0, float(np.std(labels))
                if len(now) == 2:
                    error, unit = error / (now[1] - now[0]), 1.0
                    p = 1 / (1 + np.exp(-np.clip(theta @ z, -30, 30)))
                    h = p * (1 - p)
                if lam:
                    spread = np.where(there[t], np.minimum(spread / memory, 1 / lam), spread)
                    theta = theta + w[t] * error * spread * z / (1 + w[t] * h * (spread * z) @ z)
                    spread = spread / (1 + w[t] * h * spread * z**2)
                else:
                    slope = w[t] * error * z / unit
                    spread = spread + slope**2
                    theta = theta + step * unit * slope / np.sqrt(spread)
    return out


def predicted(values: list[float], said: float) -> float:
    """The label: the first plus θ·z; of two values, the first plus the probability of the second times their difference."""
    if len(values) == 2:
        return values[0] + (values[1] - values[0]) / (1 + float(np.exp(-np.clip(said, -30, 30))))
    return (values[0] if values else 0.0) + said


PLAIN = onkel.Auto(cost_limit=11.4)
LAGGED = onkel.Auto(lags=2, cost_limit=13.8, seed=3)
SPARSE = onkel.Auto(lags=1, cost_limit=1.0)  # for many columns it has no time for anything but lines
SMALL = (PLAIN, LAGGED, SPARSE)


def stream(config: onkel.Auto) -> tuple[Array, Array, Array]:
    """400 rows of 3 columns, a tenth of them of weight 0, and one label far away; PLAIN's target is another one after 230 rows.

    SPARSE gets 520 columns more that are mostly 0, and first labels of two values.
    """
    rng = np.random.default_rng(19)
    X = rng.normal([0.0, 3.0, -1.0], [1.0, 10.0, 0.1], size=(400, 3))
    changed = (np.arange(400) >= 230) & (config != LAGGED)
    y = np.where(changed, 20 * (X[:, 2] + 1), 4 * np.sin(3 * X[:, 0])) + 0.1 * rng.normal(size=400)
    if config == LAGGED:
        y += np.cumsum(0.1 * rng.normal(size=400))
    weight = rng.choice([0.0, 0.25, 1.0, 3.0], p=[0.1, 0.1, 0.7, 0.1], size=400)
    y[150], weight[150] = 1e4, 1.0
    if config == SPARSE:
        X[rng.random(400) < 0.3, 0] = 0.0
        y[:40] = np.where(y[:40] > 0.0, 1.0, 0.0)
        X = np.hstack([X, np.where(rng.random((400, 520)) < 0.01, rng.normal(size=(400, 520)), 0.0)])
    return X, y + 100.0, weight


def reached(config: onkel.Auto, state: Any) -> bool:
    """Whether a label was cut; and whether fast families were made anew, trees have grown, and a family began again (PLAIN) or was
    dropped, and a zoom woke (LAGGED); of lines alone, whether labels have had more than two values."""
    if config == SPARSE:
        return bool(state.families[0].values[0] == 3 and np.any(state.families[1].products) and state.labels.cut == 1)
    renewed = all(np.any(part.products) for part in state.families[1:4])
    grown = min(part.leaves.min() for part in state.families[8:10]) > 1
    starts = config._plan(state.dim).starts
    reviewed = state.review.awake[~starts].any() and not state.review.awake[starts].all()
    moved = reviewed if config == LAGGED else state.recent.again.any()
    return bool(renewed and grown and state.labels.cut == 1 and moved)
