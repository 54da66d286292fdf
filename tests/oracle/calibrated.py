"""Calibrated probabilities from their definition, row by row: every knot of every map has its hat function."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAPS = [(16, 1000), (8, 100), (8, 20)]  # cells, memory; before them comes the identity


class Map:
    """The share of rows that were of one class, at each knot."""

    def __init__(self, cells: int, memory: int) -> None:
        self.knots = np.sin(np.pi * np.arange(cells + 1) / (2 * cells)) ** 2
        self.mean, self.count, self.memory = np.clip(self.knots, 0.01, 0.99), np.full(cells + 1, 10.0), memory

    def __call__(self, guess: float) -> float:
        return float(np.clip(np.interp(guess, self.knots, self.mean), 1e-6, 1 - 1e-6))

    def learn(self, guess: float, label: float, weight: float) -> None:
        hats = np.array([np.interp(guess, self.knots, row) for row in np.eye(len(self.knots))])
        self.mean += (label - self.mean) * weight * hats / (self.count + weight * hats)
        self.count = np.minimum(self.count + weight * hats, self.memory)


def held(p: Array, guess: Array, there: list[int]) -> Array:
    """p with nothing above the class of the greatest guess: of all sets of classes to be made equal, that of the greatest mean."""
    first = max(there, key=lambda c: guess[c])
    above = sorted((c for c in there if c != first), key=lambda c: -p[c])
    sets = [[first, *above[:n]] for n in range(len(there))]
    equal = max(sets, key=lambda one: p[one].mean())
    result = p.copy()
    result[equal] = p[equal].mean()
    return result


def probabilities(guesses: Array, own: NDArray[np.int64], weight: Array) -> tuple[Array, Array]:
    """(rows, classes), mixed and held; and (rows, maps, classes), what each map would have said."""
    classes = guesses.shape[1]
    maps = {k: [Map(*about) for about in MAPS] for k in range(classes)}
    shares, seen = np.full(4, 0.25), np.zeros(classes, dtype=int)
    mixed, alone, evidence = [], [], 0.0
    for raw, k, w in zip(guesses, own.tolist(), weight, strict=True):
        guess = np.clip(raw, 0, 1)
        there, n = [c for c in range(classes) if seen[c]], seen.sum()
        said = np.full((4, classes), 1 / (n + classes))
        values = np.array([[np.clip(guess[c], 1e-3, 1 - 1e-3), *(one(guess[c]) for one in maps[c])] for c in there])
        rest = 1 - (classes - len(there)) / (n + classes)
        if there:
            said[:, there] = rest * (values / values.sum(axis=0)).T
        alone.append(said)
        free = shares @ said
        leaders = there and np.count_nonzero(raw[there] == raw[there].max()) == 1
        mixed.append(held(free, raw, there) if leaders and evidence <= np.log(5) else free)
        if w == 0:
            continue
        evidence += np.log(free[k] / mixed[-1][k])
        if seen[k]:
            shares = shares * said[:, k] / (shares @ said[:, k])
            shares = (1 - 1 / (n + 2)) * shares + 1 / (4 * (n + 2))
        seen[k] += 1
        if np.count_nonzero(seen) > 1:
            for c in [*there, *([] if k in there else [k])]:
                for one in maps[c]:
                    one.learn(guess[c], float(c == k), w)
    return np.array(mixed), np.array(alone)
