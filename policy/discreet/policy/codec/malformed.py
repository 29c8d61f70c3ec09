"""The error of a message that cannot be taken as it is."""


class Malformed(ValueError):
    """A malformed message: `field` is the path, `problem` what is wrong, `hint` what would be right.

    The text never repeats the value: it may be a secret.
    """

    def __init__(self, field: str, problem: str, hint: str = "") -> None:
        super().__init__(field, problem, hint)
        self.field = field
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        """One line for the caller, for example `segments[2].digest: is empty; give the SHA-256 of the text`."""
        head = f"{self.field}: {self.problem}" if self.field else self.problem
        return f"{head}; {self.hint}" if self.hint else head
