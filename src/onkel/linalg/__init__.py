"""Exact updates of factors: the arithmetic that learners share."""
