"""Shrinks a failing kernel while it still fails in the same way."""

from tree import Node

MOST_TRIES = 600


def smaller(tree, fails):
    """Shrinks `tree` in place. `fails(tree)` says whether the tree still fails. The number of attempts is
    bounded."""
    tries = [0]

    def attempt(node, parts):
        if tries[0] >= MOST_TRIES:
            return False
        tries[0] += 1
        before, node.parts = node.parts, parts
        if fails(tree):
            return True
        node.parts = before
        return False

    progress = True
    while progress and tries[0] < MOST_TRIES:
        size = tree.size()
        for node in [n for n in tree.walk() if n.kind == "list"]:
            drop_statements(node, attempt)
        for node in [n for n in tree.walk() if n.kind == "expr"]:
            replace_expression(node, attempt)
        progress = tree.size() < size
    return tree


def drop_statements(node, attempt):
    step = max(1, len(node.parts) // 2)
    while step:
        at = 0
        while at < len(node.parts):
            if not attempt(node, node.parts[:at] + node.parts[at + step:]):
                at += step
        step //= 2


def replace_expression(node, attempt):
    """Replaces an expression with a number, or with one of its parts that has the same type and no additional
    ranges."""
    if len(node.parts) == 1 and not isinstance(node.parts[0], Node):
        return
    literal = "true" if node.type == "bool" else f"(1 as {node.type})"
    if attempt(node, [literal]):
        return
    inner = [n for n in node.walk() if n is not node and n.kind == "expr"]
    for part in sorted(inner, key=Node.size):
        if part.type == node.type and part.ranges <= node.ranges and attempt(node, part.parts):
            return
