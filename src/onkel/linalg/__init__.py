"""Exact updates of factors: the arithmetic that learners share.

Decisions: docs/decisions/linalg.md
"""
