"""A backup made while the service runs, and brought back with the program's own commands."""

import stat

from process.service import Place


def test_a_backup_made_while_it_runs_comes_back_and_says_what_nobody_can_know(
    place: Place,
) -> None:
    # proves: SEC-12, FENCE-7
    service = place.start()
    place.send(service, "m-1", "say")
    assert service.client.known("m-1")["state"] == "settled"
    place.send(service, "m-2", "hold")
    place.model.wait_asked("m-2")
    place.send(service, "m-3", "say")
    archive = place.root / "backup.db"
    assert place.done("backup", str(archive)) == 0
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert (place.home / "operator.token").read_bytes().strip() not in archive.read_bytes()

    place.model.release("m-2")
    assert service.client.known("m-3")["state"] == "settled"
    refused = place.run("restore", "--yes", str(archive))
    assert refused.ended() == 1
    assert str(service.pid) in refused.said()
    place.finish(service)

    assert place.done("restore", "--yes", str(archive)) == 0
    assert list(place.home.glob("clankie.db.before-restore-*"))
    # What was done after the backup is not in it: what is on record of effects begins anew.
    place.effects.unlink()
    place.model.asked.clear()
    again = place.start()
    assert again.client.known("m-1")["state"] == "settled"
    assert again.client.known("m-2")["state"] == "uncertain"
    assert again.client.known("m-3")["state"] == "uncertain"
    assert "restored" in {one.get("code") for one in again.client.events()}
    place.send(again, "m-4", "say")
    assert again.client.known("m-4")["state"] == "settled"
    place.finish(again)


def test_what_is_no_backup_is_refused_and_the_state_stays(place: Place) -> None:
    # proves: SEC-12
    service = place.start()
    place.send(service, "m-1", "say")
    service.client.known("m-1")
    place.finish(service)
    before = place.database.read_bytes()
    archive = place.root / "holiday.jpg"
    archive.write_bytes(b"\xff\xd8" * 5000)
    refused = place.run("restore", "--yes", str(archive))
    assert refused.ended() == 1
    assert "holiday.jpg" in refused.said()
    assert place.database.read_bytes() == before
