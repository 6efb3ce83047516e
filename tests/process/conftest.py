"""A place to start services in, gone afterwards together with them."""

from collections.abc import Iterator

import pytest

from process.service import Place


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made
