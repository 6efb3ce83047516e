"""Status as OpenMetrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

_encode, MEDIA_TYPE = choose_encoder("application/openmetrics-text; version=1.0.0")


class _Snapshot(Collector):
    """One reading of the status, as families."""

    def __init__(self, status: Mapping[str, Any], streams: int) -> None:
        self._status = status
        self._streams = streams

    def collect(self) -> Iterator[Metric]:
        """Every family once."""
        status = self._status
        yield InfoMetricFamily("clankie", "The service.", {"version": str(status["version"])})
        yield GaugeMetricFamily(
            "clankie_uptime_seconds", "Since the start.", float(status["uptime_seconds"])
        )
        yield _by_state("clankie_deliveries", "Inputs that have not ended.", status["deliveries"])
        yield _by_state("clankie_conversations", "Conversations.", status["conversations"])
        yield GaugeMetricFamily("clankie_turns_running", "Turns now.", len(status["running"]))
        yield GaugeMetricFamily(
            "clankie_writer_backlog", "Units that wait for the writer.", status["writer_backlog"]
        )
        yield GaugeMetricFamily("clankie_streams_open", "Event streams.", self._streams)
        yield GaugeMetricFamily("clankie_stopping", "Going down.", int(status["stopping"]))
        yield from _store(status["store"])


def _by_state(name: str, text: str, counts: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=["state"])
    for state, count in counts.items():
        family.add_metric([state], count)
    return family


def _store(facts: Mapping[str, Any]) -> Iterator[Metric]:
    """Whatever the store tells in numbers."""
    for name, value in facts.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield GaugeMetricFamily(f"clankie_store_{name}", f"The store's {name}.", value)


def exposition(status: Mapping[str, Any], streams: int) -> bytes:
    """The text of one scrape, from a registry of its own: nothing of the process leaks in."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(status, streams))
    return _encode(registry)
