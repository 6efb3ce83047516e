"""How Codex is started: what stands on its command line, and that nothing else is touched."""

import tomllib
from pathlib import Path

import pytest

from clankie.seats.codex import ADAPTER, launch
from clankie.seats.codex.server import CodexError
from clankie.seats.launch import Means, Place


def place(tmp_path: Path, *program: str) -> Place:
    return Place(
        folder=tmp_path / "s-1",
        harness="codex",
        conversation="c-1",
        directory=str(tmp_path),
        environment={},
        program=program or ("clankie",),
    )


def overrides(argv: tuple[str, ...]) -> dict[str, object]:
    values = [argv[n + 1] for n, one in enumerate(argv) if one == "-c"]
    return tomllib.loads("\n".join(values))


@pytest.mark.parametrize("name", ["clankie", 'a "quoted" path\\x', "umlaut äöü 😀", "tab\there"])
def test_every_override_is_toml_and_names_our_program(tmp_path: Path, name: str) -> None:
    made = place(tmp_path, name, "-m", "clankie")
    argv = launch.server(made, tmp_path / "x.sock", hooks=True)
    found = overrides(argv)
    servers = found["mcp_servers"]
    assert isinstance(servers, dict)
    assert servers["clankie"]["command"] == name
    assert servers["clankie"]["args"] == ["-m", "clankie", "bridge"]
    assert servers["clankie"]["env_vars"] == ["CLANKIE_HOME", "CLANKIE_SEAT_GRANT"]
    hooks = found["hooks"]
    assert isinstance(hooks, dict)
    ((hook,),) = [one["hooks"] for one in hooks["SessionStart"]]
    assert hook["command"] == launch.hook(made)
    features = found["features"]
    assert features == {"daemon_auto_start": False}
    assert argv[-2:] == ("--listen", f"unix://{tmp_path / 'x.sock'}")


def test_without_trust_there_is_no_hook(tmp_path: Path) -> None:
    argv = launch.server(place(tmp_path), tmp_path / "x.sock", hooks=False)
    assert "hooks" not in overrides(argv)


def test_the_hook_is_the_same_for_every_seat(tmp_path: Path) -> None:
    assert launch.hook(place(tmp_path / "a")) == launch.hook(place(tmp_path / "b"))


def test_a_terminal_joins_the_thread_at_the_socket() -> None:
    made = launch.screen("/s/x.sock", "thread-1", ("a note",))
    assert made.argv[:3] == ("codex", "resume", "thread-1")
    assert made.argv[-2:] == ("--remote", "unix:///s/x.sock")
    assert made.notes == ("a note",)


def test_it_is_always_driven_and_declares_every_kind(tmp_path: Path) -> None:
    for headless in (True, False):
        assert ADAPTER.driven(headless=headless)
        declared = ADAPTER.declaration(headless=headless)
        assert set(declared.ways) == declared.capabilities.kinds
        assert declared.capabilities.interrupt
    assert ADAPTER.launch(place(tmp_path)).argv[:2] == ("codex", "app-server")


def test_nothing_is_joined_from_inside(means: Means) -> None:
    with pytest.raises(CodexError, match="clankie seat open"):
        ADAPTER.join(means)
