"""The tree of a random kernel: text with marked parts, so that a failing kernel can be shrunk without
parsing."""

import dataclasses


@dataclasses.dataclass
class Node:
    """A node, whose `parts` are texts and nodes. An expression has a type and the ranges that it may have.
    Statements are in nodes of kind `list`."""
    parts: list
    kind: str = "text"  # text, expr, list
    type: str = ""
    ranges: frozenset = frozenset()
    own: frozenset = frozenset()  # ranges that the expression has in addition to those of its parts

    def has(self):
        """Returns the ranges of the expression's value."""
        return self.own.union(*(part.has() for part in self.parts if isinstance(part, Node)))

    def __str__(self):
        return "".join(str(part) for part in self.parts)

    def walk(self):
        yield self
        for part in self.parts:
            if isinstance(part, Node):
                yield from part.walk()

    def size(self):
        return sum(1 for _ in self.walk())


def expr(type_, ranges, *parts, own=()):
    return Node(list(parts), "expr", type_, frozenset(ranges), frozenset(own))


class Reduced(Node):
    """An expression whose value does not have all ranges of its parts."""

    def __init__(self, type_, ranges, parts, over, own=()):
        super().__init__(list(parts), "expr", type_, frozenset(ranges))
        self.over = frozenset(over)
        self.result = frozenset(own)  # ranges that the value always has

    def has(self):
        return (super().has() - self.over) | self.result


def statements(items):
    return Node(list(items), "list")


def text(*parts):
    return Node(list(parts))
