"""Tests in a browser: `make test-browser`."""
