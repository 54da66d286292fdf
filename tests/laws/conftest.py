from __future__ import annotations

import pytest

from tests.laws.cases import CASES, Case


@pytest.fixture(params=CASES, ids=lambda case: case.name, scope="session")
def case(request: pytest.FixtureRequest) -> Case:
    found = request.param
    assert isinstance(found, Case)
    return found
