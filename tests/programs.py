"""
Random programs of the network language: the tokens of one that is right, and a text of them in any layout.

The programs parse; nothing says that they can be built.
"""

from random import Random

END = "<end>"
CONTINUED = frozenset("+ - * / // % ** == != < <= > >= and or ,".split())
ATOMS = ["x", "h", "loss", "input", "frozen", "n_2", "0", "64", "1e-5", "0.25", '"same"', '"a # b"', "true", "none"]
NAMES = ["x", "h", "output", "block", "a_name_of_some_length", "another_name_that_is_rather_long", "w"]
COMMENTS = ["#", "# why", "#no blank", '# a = b(c) { "', "#\ttab, é, ; and }   "]


class Drawn:
    """Tokens of a right program; `END` stands for the end of a statement."""

    def __init__(self, random: Random):
        self.random = random
        self.left = random.randint(1, 60)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def expression(self) -> list[str]:
        self.left -= 1
        r = self.random
        kind = r.choice(["atom", "chain", "chain", "call", "call", "list", "index", "if", "words", "minus"])
        if self.left < 0 or kind == "atom":
            return [r.choice(ATOMS)]
        if kind == "chain":
            tokens = self.operand()
            for _ in range(r.randint(1, 3)):
                tokens += [r.choice("+ - * / // % **".split()), *self.operand()]
            return tokens
        if kind == "call":
            return self.call()
        if kind == "list":
            return ["[", *self.items([self.expression() for _ in range(r.randint(0, 5))]), "]"]
        if kind == "index":
            return [r.choice(NAMES), "[", *self.expression(), "]"]
        if kind == "if":
            return ["(", *self.condition(), "if", *self.condition(), "else", *self.condition(), ")"]
        return ["(", *self.condition(), ")"] if kind == "words" else ["-", *self.operand()]

    def operand(self) -> list[str]:
        if self.chance(0.7):
            return [*(["-"] if self.chance(0.1) else []), self.random.choice(ATOMS)]
        return self.call() if self.chance(0.6) else ["(", *self.expression(), ")"]

    def condition(self) -> list[str]:
        tokens = [*(["not"] if self.chance(0.3) else []), *self.operand()]
        if self.chance(0.5):
            tokens += [self.random.choice("== != < <= > >=".split()), *self.operand()]
        return [*tokens, self.random.choice(["and", "or"]), *self.condition()] if self.chance(0.3) else tokens

    def call(self) -> list[str]:
        self.left -= 1
        arguments = [
            [*([self.random.choice(NAMES), "="] if self.chance(0.4) else []), *self.expression()]
            for _ in range(self.random.randint(0, 5) if self.left > 0 else 1)
        ]
        frozen = ["frozen"] if self.chance(0.1) else []
        return [*frozen, self.random.choice(NAMES), "(", *self.items(arguments), ")"]

    def items(self, items: list[list[str]]) -> list[str]:
        tokens = [token for item in items for token in (*item, ",")]
        return tokens if self.chance(0.2) else tokens[:-1]

    def body(self) -> list[str]:
        self.left -= 1
        count = self.random.randint(0, 3) if self.left > 0 else 1
        return ["{", *(token for _ in range(count) for token in self.statement()), "}"]

    def statement(self) -> list[str]:
        r, name = self.random, self.random.choice(NAMES)
        match r.choice(
            ["is", "is", "is", "two", "out", "loss", "error", "return", "in", "in", "sgd", "for", "range", "if", "if"]
        ):
            case "for":
                return ["for", name, "in", *self.expression(), *self.body()]
            case "range":
                return ["for", name, "in", *self.operand(), "..", *self.expression(), *self.body()]
            case "if":
                tokens = ["if", *self.condition(), *self.body()]
                while self.chance(0.3):
                    tokens += ["else", "if", *self.condition(), *self.body()]
                return [*tokens, *(["else", *self.body()] if self.chance(0.4) else [])]
            case "is":
                tokens = [name, "=", *self.expression()]
            case "two":
                tokens = [name, ",", r.choice(NAMES), "=", *self.expression()]
            case "out":
                tokens = ["output", name, *(["=", *self.expression()] if self.chance(0.5) else [])]
            case "loss":
                tokens = ["loss", *self.expression()]
            case "error":
                tokens = ["error", '"found "', ",", *self.expression()]
            case "return":
                tokens = ["return", *self.condition(), *([",", *self.expression()] if self.chance(0.3) else [])]
            case "in":
                tokens = [r.choice(["input", "labels"]), name, ":", "f32", "[", *self.items([["64"], ["x"]]), "]"]
            case _:
                tokens = ["optimizer", *self.call()]
        if tokens[0] == "optimizer" and tokens[1] == "frozen":
            del tokens[1]
        return [*tokens, END]

    def program(self) -> list[str]:
        tokens: list[str] = []
        for _ in range(self.random.randint(0, 3)):
            if self.chance(0.2):
                tokens += ["import", '"a.dsl"', END]
                continue
            parameters = [
                [self.random.choice(NAMES), *(["=", *self.expression()] if self.chance(0.5) else [])]
                for _ in range(self.random.randint(0, 6))
            ]
            head = [self.random.choice(["network", "block"]), self.random.choice(NAMES)]
            tokens += [*head, "(", *(self.items(parameters) if parameters else []), ")", *self.body()]
        return tokens


def layout(tokens: list[str], random: Random) -> str:
    """A text of the tokens, with blanks, line ends and comments wherever the language allows them."""
    wild = random.choice([0.0, 0.05, 0.3])

    def line_ends() -> str:
        text = ""
        while not text or random.random() < 0.4:
            text += random.choice([" ", "", "\t"])
            text += random.choice(COMMENTS) if random.random() < 0.3 else ""
            text += "\n"
        return text

    text = line_ends() if random.random() < 0.5 else ""
    depth = 0
    for number, token in enumerate(tokens):
        after = tokens[number + 1] if number + 1 < len(tokens) else ""
        if token == END:
            text += random.choice([" ; ", ";\n", "\n"]) if after != "}" else random.choice([" ", "\n"])
            text += line_ends() if random.random() < 0.3 else ""
            continue
        text += token
        depth += (token in "([") - (token in ")]")
        free = depth > 0 or token in CONTINUED or token in "{}" or after in ("{", "else")
        if free and token != "frozen" and random.random() < (0.5 if token in "{}" else wild):
            text += line_ends()
        text += random.choice([" ", "  ", "\t", " \f"])
    return text
