"""How a function is changed: ridge, Newton, gradient and projection steps that several learners share.

Decisions: docs/decisions/updates.md
"""
