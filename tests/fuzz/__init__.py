"""Fuzzers: each target is a file with `trial(rng)`, which plays one random game and raises where a promise is broken.

`make fuzz SECONDS=3600 SEED=1` plays them in turn; every finding comes with the command that repeats it.
"""
