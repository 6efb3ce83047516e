"""The port CrashPoint for tests: nothing happens, or the process dies at a named place."""


class Crash(BaseException):
    """The simulated end of the process. Not an Exception: no handler may survive it."""


class NoCrash:
    """Never dies; remembers where it came past."""

    def __init__(self) -> None:
        self.passed: list[str] = []

    def reach(self, name: str) -> None:
        self.passed.append(name)


class CrashAt:
    """Dies at the `nth` passing of `name`, and stays dead."""

    def __init__(self, name: str, nth: int = 1) -> None:
        self.name = name
        self.left = nth

    def reach(self, name: str) -> None:
        if name == self.name:
            self.left -= 1
            if self.left == 0:
                raise Crash(name)
