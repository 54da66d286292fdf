"""Models behind HTTP and streams, durable, with a page to watch them.

Decisions: docs/decisions/serve.md
"""
