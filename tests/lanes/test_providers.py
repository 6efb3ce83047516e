"""Every provider keeps the contract of `provider_contract`."""

import pytest

from fakes.model_wires import STYLES, Style
from lanes.provider_contract import *  # noqa: F403 - the tests of the contract become tests here


@pytest.fixture(params=STYLES, ids=lambda style: style.provider)
def style(request: pytest.FixtureRequest) -> Style:
    found = request.param
    assert isinstance(found, Style)
    return found
