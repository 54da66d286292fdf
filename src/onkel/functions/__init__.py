"""How a function is represented: support points, linear weights, additive curves in trees.

Decisions: docs/decisions/functions.md
"""
