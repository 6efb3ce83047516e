"""The list of hand-made faults, and the command that tries them out."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import faults as command
from core.faults import FAULTS, Fault

SOURCE = {file.stem: file.read_text(encoding="utf-8") for file in command.CORE.glob("[!_]*.py")}


def test_there_are_at_least_40_faults_and_each_module_of_core_has_some() -> None:
    assert len(FAULTS) >= 40
    assert {fault.module for fault in FAULTS} == set(SOURCE)


def test_no_fault_stands_in_the_list_twice() -> None:
    changes = Counter((one.module, one.old, one.new) for one in FAULTS)
    assert [change for change, n in changes.items() if n > 1] == []
    names = Counter(f"{one.module}: {one.name}" for one in FAULTS)
    assert [name for name, n in names.items() if n > 1] == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: f"{one.module}: {one.name}")
def test_a_fault_is_one_change_of_one_place_that_python_can_read(fault: Fault) -> None:
    healthy = SOURCE[fault.module]
    assert healthy.count(fault.old) == 1
    ill = healthy.replace(fault.old, fault.new)
    assert ill != healthy
    compile(ill, fault.module, "exec")


def test_every_module_of_core_has_tests_that_a_fault_can_meet() -> None:
    for module in SOURCE:
        assert f"test_{module}.py" in {Path(file).name for file in command.tests_of(module)}


def test_the_command_tells_a_fault_that_is_seen_from_one_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = next(one for one in FAULTS if one.name == "a name may be blank")
    unseen = replace(seen, old="Names that come from outside", new="Names from outside")
    broken = replace(seen, old="_NAME_LIMIT: Final = 80", new="_NAME_LIMIT: Final = 80 / 0")
    absent = replace(seen, old="what nobody wrote")
    copy = command.Copy(tmp_path)
    outcomes = [copy.try_out(one) for one in (seen, unseen, broken, absent)]
    assert outcomes == ["caught", "ALIVE", "BROKEN", "NOT THERE ONCE"]
    healthy = (tmp_path / "clankie" / "core" / "ids.py").read_text(encoding="utf-8")
    assert healthy == SOURCE["ids"]

    monkeypatch.setattr(command, "run", lambda faults: [(one, "ALIVE") for one in faults])
    assert command.main(["ids"]) == 1
    monkeypatch.setattr(command, "run", lambda faults: [(one, "caught") for one in faults])
    assert command.main(["ids"]) == 0
    assert command.main(["no fault has this name"]) == 1
