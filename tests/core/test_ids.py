"""Names that come from outside."""

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clankie.core import ids
from clankie.core.errors import InvalidFieldError

DELIVERY = string.ascii_letters + string.digits + "._:-"
CONVERSATION = string.ascii_lowercase + string.digits + "-"
ANYTHING = st.text(st.characters(codec=None), max_size=140)

HOSTILE = [
    "",
    "a b",
    "a/b",
    "a\n",
    "\na",
    "a\0",
    "é",
    "a\u0430",
    "\ud800",
    "a" * 129,
    "../a",
    "a%2f",
]


@given(st.text(DELIVERY, min_size=1, max_size=128))
def test_a_delivery_id_is_up_to_128_plain_characters(given_id: str) -> None:
    assert ids.delivery_id(given_id) == given_id
    assert ids.stored_delivery_id(given_id) == given_id


@pytest.mark.parametrize("given_id", HOSTILE)
def test_any_other_delivery_id_is_refused(given_id: str) -> None:
    # proves: SEC-11
    with pytest.raises(InvalidFieldError) as refused:
        ids.delivery_id(given_id)
    assert refused.value.path == "delivery_id"


@given(ANYTHING)
def test_no_delivery_id_gets_by_with_a_character_that_is_not_listed(given_id: str) -> None:
    # proves: SEC-11
    assume(not set(given_id) <= set(DELIVERY) or not 1 <= len(given_id) <= 128)
    with pytest.raises(InvalidFieldError):
        ids.delivery_id(given_id)


@given(
    st.sampled_from(["seat", "discord", "worker", "device"]),
    st.text(DELIVERY, min_size=1, max_size=128),
)
def test_a_stored_id_is_the_operators_own_or_says_whose_it_is(
    principal: str, given_id: str
) -> None:
    assert ids.qualified("operator", given_id) == given_id
    stored = ids.qualified(principal, given_id)
    assert stored == f"{principal}/{given_id}"
    assert ids.stored_delivery_id(stored) == stored
    with pytest.raises(InvalidFieldError):
        ids.delivery_id(stored)


@pytest.mark.parametrize(
    "given_id", [*(one for one in HOSTILE if one != "a/b"), "/a", "a/", "a/b/c", "A/b", "-a/b"]
)
def test_any_other_stored_id_is_refused(given_id: str) -> None:
    # proves: SEC-11
    with pytest.raises(InvalidFieldError):
        ids.stored_delivery_id(given_id)


@given(st.text(CONVERSATION, min_size=1, max_size=64))
def test_a_conversation_id_is_up_to_64_plain_characters_and_begins_with_no_dash(one: str) -> None:
    # proves: CONV-1
    if one.startswith("-"):
        with pytest.raises(InvalidFieldError):
            ids.conversation_id(one)
        return
    assert ids.conversation_id(one) == one


@given(ANYTHING)
def test_no_conversation_id_gets_by_with_a_character_that_is_not_listed(one: str) -> None:
    # proves: SEC-11
    assume(not set(one) <= set(CONVERSATION) or not 1 <= len(one) <= 64)
    with pytest.raises(InvalidFieldError) as refused:
        ids.conversation_id(one)
    assert refused.value.path == "conversation"


def test_the_head_has_an_id_like_any_other() -> None:
    # proves: CONV-1
    assert ids.conversation_id(ids.HEAD) == "global-default"


@pytest.mark.parametrize("name", ["x", "x" * 80, "Grüße an 北京 🌱", " a "])
def test_a_readable_name_is_up_to_80_printable_characters(name: str) -> None:
    # proves: CONV-1
    assert ids.conversation_name(name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "x" * 81, "a\nb", "a\tb", "a\x1b[31m", "\u202eb", "\ud800"]
)
def test_any_other_name_is_refused(name: str) -> None:
    # proves: SEC-11
    with pytest.raises(InvalidFieldError) as refused:
        ids.conversation_name(name)
    assert refused.value.path == "name"
