"""The port Credentials in memory; it remembers what was asked of it."""

from collections.abc import Sequence

from clankie.host.ports import Credential


class FakeCredentials:
    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, str]] = {}
        self.asked: list[tuple[str, str]] = []

    def list(self) -> Sequence[Credential]:
        return [
            Credential(name=name, origin=origin, source="fake")
            for name, (origin, _) in self._kept.items()
        ]

    def settle(self) -> None:
        """There is one place only."""

    def place(self) -> str:
        return "Memory keeps them."

    def put(self, name: str, origin: str, secret: str) -> None:
        self._kept[name] = (origin, secret)

    def remove(self, name: str) -> bool:
        return self._kept.pop(name, None) is not None

    def secret_for(self, name: str, origin: str) -> str | None:
        self.asked.append((name, origin))
        kept, secret = self._kept.get(name, ("", ""))
        return secret if kept == origin else None

    def known_secrets(self) -> Sequence[str]:
        return [secret for _, secret in self._kept.values()]
