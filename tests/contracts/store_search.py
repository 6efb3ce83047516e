"""Search: what every store must do, whatever engine is below.

Whoever runs this gives the fixtures `world` and `store`.
"""

import pytest

from clankie.core.conversation import Attachment
from clankie.core.delivery import ServiceState
from clankie.core.errors import ConversationNotFoundError, InvalidFieldError
from clankie.core.ids import HEAD
from clankie.host.storage import Call, Outcome, SearchPage, Store
from contracts.store_kit import World, admitted, answered, log, made, started


async def find(store: Store, query: str, conversation: str = HEAD, **more: int) -> SearchPage:
    return await store.conversations.search(
        conversation, query, before=more.get("before"), limit=more.get("limit", 50)
    )


async def cursors(store: Store, query: str, conversation: str = HEAD) -> list[int]:
    return [one.cursor for one in (await find(store, query, conversation)).results]


async def indexed(store: Store) -> None:
    """Take everything into the index."""
    while await store.conversations.index(3):
        pass


async def test_messages_are_found_by_their_words_newest_first(store: Store) -> None:
    # proves: DAY-2
    await answered(store, "m-1", "The red kettle boils")
    await answered(store, "m-2", "A blue kettle")
    await indexed(store)
    page = await find(store, "kettle")
    assert [(one.kind, one.role, one.snippet) for one in page.results] == [
        ("message", "owner", "A blue kettle"),
        ("message", "owner", "The red kettle boils"),
    ]
    assert not page.has_more
    assert await cursors(store, "kettle RED") == [1]
    assert await cursors(store, "kettle green") == []


async def test_answers_and_tool_actions_are_found_too(store: Store) -> None:
    await admitted(store, "m-1", "Do it")
    run = await started(store)
    call = Call(call_id="c", name="paint", effect=True, arguments_sha256="0" * 64, detail="a door")
    await store.deliveries.tool_started(run, call)
    await store.deliveries.tool_ended(run, call, ok=True, detail="painted the door green")
    await store.deliveries.settle(
        run, Outcome(state=ServiceState.COMPLETED, text="The door is green now.")
    )
    await indexed(store)
    hits = (await find(store, "green")).results
    assert [(one.kind, one.role) for one in hits] == [("message", "agent"), ("tool", "agent")]
    assert hits[1].snippet == "paint painted the door green"


async def test_a_file_is_found_by_its_name(store: Store) -> None:
    digest = await store.attachments.put(b"meow", "text/plain")
    one = Attachment(digest=digest, name="siamese.txt", media_type="text/plain", size=4)
    await admitted(store, "m-1", "Look", attachments=(one,))
    await indexed(store)
    assert await cursors(store, "siamese") == [1]


async def test_each_conversation_finds_its_own_words_only(store: Store) -> None:
    await made(store, "den")
    await answered(store, "m-1", "Secret plans")
    await answered(store, "m-2", "Open plans", conversation="den")
    await indexed(store)
    assert await cursors(store, "plans", "den") == [1]
    assert await cursors(store, "secret", "den") == []
    with pytest.raises(ConversationNotFoundError):
        await find(store, "plans", "nowhere")


async def test_the_last_word_may_be_unfinished_if_it_has_three_letters(store: Store) -> None:
    await answered(store, "m-1", "Photographs of mountains")
    await indexed(store)
    assert await cursors(store, "mountains photo") == [1]
    assert await cursors(store, "photo mountains") == []
    assert await cursors(store, "ph") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Über den Wölken", "uber"),
        ("Ueber", "UEBER"),
        ("Straße", "strasse"),
        ("naïve café", "Naive CAFÉ"),
        ("今日は東京へ行く", "東京"),
        ("한국어 배우기", "한국어"),
        ("हिन्दी में", "हिन्दी"),
        ("snake_case and kebab-case", "case snake"),
        ("see https://example.org/a?b=1", "example.org"),
        ("it's", "it's"),
        ("a kettle", "^kettle!*"),
    ],
)
async def test_words_are_found_however_they_are_written(
    store: Store, text: str, query: str
) -> None:
    await answered(store, "m-1", text)
    await indexed(store)
    assert await cursors(store, query) == [1]


@pytest.mark.parametrize(
    "query",
    [
        'kettle" OR "tea',
        "kettle* NOT tea",
        "words : kettle",
        "NEAR(kettle tea)",
        "kettle) OR (place",
    ],
)
async def test_what_a_user_types_is_words_and_never_an_instruction(
    store: Store, query: str
) -> None:
    await answered(store, "m-1", "kettle")
    await indexed(store)
    assert await cursors(store, query) == []


@pytest.mark.parametrize("query", ["", "  ", '"*:()-', "…", "word " * 40])
async def test_a_question_needs_words_and_not_too_many(store: Store, query: str) -> None:
    with pytest.raises(InvalidFieldError):
        await find(store, query)


async def test_older_hits_come_page_by_page(store: Store) -> None:
    for n in range(5):
        await answered(store, f"m-{n}", f"kettle {n}")
    await indexed(store)
    everything = await cursors(store, "kettle")
    assert len(everything) == 5
    seen: list[int] = []
    page = await find(store, "kettle", limit=2)
    while True:
        seen += [one.cursor for one in page.results]
        if not page.has_more:
            break
        page = await find(store, "kettle", limit=2, before=seen[-1])
    assert seen == everything
    assert (await find(store, "kettle", before=1)).results == []


async def test_a_search_says_how_far_the_index_has_come(store: Store) -> None:
    await made(store, "den")
    assert (await find(store, "kettle", "den")).indexed == 0
    await answered(store, "m-1", "kettle")
    before = await find(store, "kettle")
    assert (before.indexed, before.results) == (0, [])
    assert await store.conversations.index(2) == 2
    assert (await find(store, "kettle")).indexed == 2
    assert await cursors(store, "kettle") == [1]
    await indexed(store)
    assert (await find(store, "kettle")).indexed == (await log(store))[-1]["cursor"]
    assert await store.conversations.index(100) == 0


async def test_an_index_goes_on_where_it_was_after_a_restart(world: World) -> None:
    async with world.open() as store:
        await store.boot()
        await answered(store, "m-1", "kettle")
        await store.conversations.index(1)
    async with world.open() as store:
        await store.boot()
        await answered(store, "m-2", "kettle")
        await indexed(store)
        assert len(await cursors(store, "kettle")) == 2


async def test_a_snippet_is_one_line_around_the_first_hit(store: Store) -> None:
    far = "filler " * 200 + "the needle\nis\there " + "filler " * 200
    await answered(store, "m-1", far)
    await indexed(store)
    ((found,),) = [(await find(store, "needle")).results]
    assert "the needle is here" in found.snippet
    assert found.snippet.startswith("…")
    assert found.snippet.endswith("…")
    assert len(found.snippet) <= 162
    assert not {"\n", "\t"} & set(found.snippet)
