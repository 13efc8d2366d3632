"""How the text of a study begins, for tests that write the rest of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a study, and that of its first experiment."""

    name: str
    title: str
    experiment: str
    seed: int = 1

    def then(self, text: str) -> str:
        """Return the study with the keys of its experiment, and all that follows.

        Examples
        --------
        >>> print(Head("shop", "A shop", "load").then("factors = { users = [1] }"))
        <BLANKLINE>
        schema = 1
        name = "shop"
        title = "A shop"
        seed = 1
        <BLANKLINE>
        [[experiment]]
        name = "load"
        factors = { users = [1] }
        """
        head = f'schema = 1\nname = "{self.name}"\ntitle = "{self.title}"\nseed = {self.seed}'
        return f'\n{head}\n\n[[experiment]]\nname = "{self.experiment}"\n{text}'
