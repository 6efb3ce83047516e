"""Words reach a model through few places, and each of them is looked at here."""

import ast
from pathlib import Path

import clankie.lanes

LANES = Path(clankie.lanes.__file__).parent


def makers(name: str) -> set[str]:
    """The modules of the lane that make such a value."""
    return {
        file.name
        for file in LANES.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    }


# proves: SEC-7
def test_only_the_seed_and_the_input_put_words_of_people_into_a_prompt() -> None:
    assert makers("UserText") == {"prompt.py", "session.py"}
    assert makers("framed") == {"prompt.py", "session.py", "tools.py"}
    assert makers("quoted") == {"offer.py", "tools.py"}


# proves: SEC-7
def test_only_the_loop_asks_a_model_and_only_for_what_a_session_holds() -> None:
    assert makers("ModelRequest") == {"runner.py"}
    assert makers("system_prompt") == {"runner.py"}
    assert makers("ToolResult") == {"runner.py"}
