"""A few rounds of `scripts/kill`; the gate does forty, and anybody may do more."""

from process.random_kills import random_kills, table

ROUNDS = 6


def test_killed_at_random_moments_it_loses_nothing_and_runs_nothing_twice() -> None:
    # proves: FENCE-1, FENCE-4, FENCE-7, FENCE-9, CONV-4, CONV-5, SERV-7
    run, account = random_kills(ROUNDS, seed=2026)
    assert not account.violations, "\n".join([table(run, account), *account.violations])
    assert run.kills == ROUNDS
    assert account.inputs > ROUNDS
    assert run.duplicates
    assert run.given
