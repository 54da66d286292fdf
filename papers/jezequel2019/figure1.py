"""Figure 1: the power b of the regret n^b against the power a of the dictionary's size m = n^a, where d_eff(λ) ≤ (n/λ)^γ.

The line of PKAWV is from Corollary 7, and with known inputs from Corollary 8, which the paper does not draw; the lines of
Sketched-KONS and PROS-N-KONS are from equation (8) with the best λ and μ = n m^(-1/γ). A learner may always use fewer points than
allowed, so each line is the best for *at most* n^a points. Writes figure1.png and figure1.json.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from onkel.measure.bounds import growing_span_rate, known_inputs_rate
from papers.jezequel2019.equation8 import best, pkawv, pros_n_kons, sketched_kons
from papers.plots import BLACK, BLUE, GREEN, RED, SKY, key, panels, save
from papers.results import keep

GAMMAS = {"0.25": 0.25, "√2 - 1": math.sqrt(2.0) - 1.0, "0.75": 0.75}
N = 1e6  # any number does, since the rates are powers of it
SIZES = np.linspace(0.0, 1.0, 121)
LINES = {  # name -> colour, dashes, width
    "PKAWV (Corollary 7)": (SKY, "-", 5.0),
    "PKAWV, inputs known (Corollary 8; not in the paper's figure)": (BLUE, "--", 1.5),
    "Sketched-KONS (eq. 8)": (GREEN, "-.", 1.5),
    "PROS-N-KONS (eq. 8)": (RED, "--", 1.5),
    "the optimal rate, γ/(1 + γ)": (BLACK, ":", 1.2),
}


def powers(gamma: float) -> list[list[float]]:
    """One line for each of LINES."""
    corollaries = [[math.log(rate(N, N**a, gamma), N) for a in SIZES] for rate in (growing_span_rate, known_inputs_rate)]
    seven = [best(pkawv(gamma), 0.0, a)[0] for a in SIZES]
    apart = max(abs(b - c) for b, c in zip(corollaries[0], seven, strict=True))
    print(f"γ = {gamma:.3f}: Corollary 7 and equation (8) differ by {apart:.0e} at most")
    others = [[best(terms, 0.0, a)[0] for a in SIZES] for terms in (sketched_kons(gamma), pros_n_kons(gamma))]
    return [*corollaries, *others, [gamma / (1.0 + gamma)] * len(SIZES)]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    figure, axes = panels(1, len(GAMMAS), 12.0, 4.6)
    lines = {name: powers(gamma) for name, gamma in GAMMAS.items()}
    keep(Path(__file__), {name: {"gamma": GAMMAS[name], "PKAWV": of[0], "PROS-N-KONS": of[3]} for name, of in lines.items()})
    for one, (name, of) in zip(axes[0], lines.items(), strict=True):
        for values, (colour, dashes, width) in zip(of, LINES.values(), strict=True):
            one.plot(SIZES, values, color=colour, linestyle=dashes, linewidth=width)
        one.set(xlim=(0.0, 1.0), ylim=(0.0, 1.03), xlabel="a: the dictionary has $n^a$ points")
        one.set_title(f"γ = {name}", loc="left")
    axes[0, 0].set_ylabel("b: the regret is of order $n^b$")
    handles = [key(name, *style) for name, style in LINES.items()]
    save(figure, Path(__file__).with_suffix(".png"), handles, 3)


if __name__ == "__main__":
    main()
