#!/usr/bin/env python3
"""Runs random programs over ranks: their results must be those of one host, bit for bit.

Some of the programs compute elements from their neighbors. Others reduce values of which some depend on the blocks of the
loop, into tensors that keep all, some or none of the loop's variables, and may also store elements. Others compute elements in loops
over rows or columns, which run in panels, write whole rows or columns, or read elements that they write. At most 5 % of the programs may be refused.

tests/run/ranks_random.py                # a random selection of programs, which changes every day
tests/run/ranks_random.py --programs 200
"""

import argparse
import math
import re
import sys

from shared import checks, seeds
from shared.rank_runs import outputs, results, run
from shared.rank_traffic import check_traffic

SHAPES = ["", "", "2, 3", "3, 1", "1, 4"]


def draw_size(draw, size):
    """Returns an entry of `by` for a dimension, perhaps with a length of blocks."""
    return size + draw.choice(["", "", "", ": 1", ": 2", ": 5", ": 16"])


def draw_distributions(draw, shape, count):
    """Returns distributions of matrices over a grid of this shape."""
    forms = [["M", "_"], ["_", "N"]] + [["M", "N"]] * (2 if shape else 0)
    return [f"({', '.join(size if size == '_' else draw_size(draw, size) for size in draw.choice(forms))})" for _ in range(count)]


def draw_read(draw, tensor, first, second):
    """Returns a read of elements near those with these indices, or far from them."""
    def index(name, other):
        factor = draw.choice(["", "", "2 * ", "-"])
        text = f"{factor}{name} + {draw.randint(-5, 5)}"
        return draw.choice([name, text, text, f"{text} + {other}", f"iota({name}) / 2", f"{name} + s"])

    instead = draw.choice(["0.5", f"{tensor}[{index(first, second)}, {index(second, first)} else 0.5]"])
    return f"{tensor}[{index(first, second)}, {index(second, first)} else {instead}]"


def computed(draw, shape):
    """Returns a program whose kernels compute elements with random indices and distributions."""
    def read(tensor):
        return draw_read(draw, tensor, "i", "j")

    by = draw_distributions(draw, shape, 2)
    step = draw.choice([1, 2, 4, 7])
    condition = draw.choice(["", "if iota(i) % 3 == 0 then x[i, j] else ", "if iota(j) < 4 then x[i, j] else "])
    return f"""
kernel first(s: i64, x: in f32[M, N], y: out f32[M, N]) {{
    spmd for i in M by {step}, j in N by 8 {{ y[i, j] = {condition}{read("x")} + {read("x")}; }}
}}
kernel second(s: i64, x: in f32[M, N], y: in f32[M, N], z: out f32[M, N]) {{
    spmd for j in N by 3, i in M by {draw.choice([4, 16])} {{ z[i, j] = {read("x")} - {read("y")}; }}
}}
export program whole(x: in f32[M, N], y: out f32[M, N], s: i64) {{
    let a: f32[M, N] on grid by {by[0]};
    let b: f32[M, N] on grid by {by[1]};
    let c: f32[M, N] on grid by {by[1]} = 0.25;
    copy(x, a);
    for t in 0..3 {{
        spmd first(s, a, b);
        spmd second(s + t, b, a, c);
        {draw.choice(["swap(b, c);", "spmd second(2, c, b, a);", "copy(c, b);", "copy(b, a);"])}
    }}
    copy(c, y);
}}
"""


def looped(draw, shape):
    """Returns a program whose blocks have a loop over the rows or the columns of matrices."""
    by = draw_distributions(draw, shape, 3)
    over_rows = draw.random() < 0.5
    step = draw.choice(["", "", " by 1", " by 3", " by 8"])  # without a step, k is a number
    reads = ["{}[k, j]", "{}[k + 1, j else 0.5]", "{}[k, j - 2 else 0.5]"] if over_rows else [
        "{}[i, k]", "{}[i, k - 3 else 0.5]", "{}[i + 1, k else 0.5]", "{}[i, N - 1 - k]"]

    def read():
        value = draw.choice(reads).format(draw.choice("xz"))
        if draw.random() < 0.4:
            value += f" * {draw.choice(reads).format(draw.choice('xz'))}"
        if step and draw.random() < 0.2:
            value += f" * (k.{draw.choice(['start', 'size', 'index'])} as f32)"
        elif not step and draw.random() < 0.2:
            value += " * (k as f32)"
        return value

    def over(function, value):
        return f"{function}({value} over k)" if step else f"({value})"

    updates = ["p += {};", "p = 0.5 * p + {};", "p = max(p, {});", "n += if {} > 0.0 then 1 else 0;"]
    kept = "j" if over_rows else "i"
    updates.append("q = 0.25 * q - {};")
    body = " ".join(draw.choice(updates).format(over(draw.choice(["sum", "max"]), read()))
                    for _ in range(draw.randint(1, 3)))
    range_ = f"0..{'M' if over_rows else 'N'}" if not step else f"{'M' if over_rows else 'N'}{step}"
    return f"""
kernel looped(s: i64, x: in f32[M, N], z: in f32[M, N], y: out f32[M, N]) {{
    spmd for i in M by {draw.choice([1, 4, 7])}, j in N by {draw.choice([3, 8])} {{
        let before: f32[i, j] = {draw.choice(["1.5", "x[i, j]", "0.5 * z[i, j]"])};
        var p: f32[i, j] = before;
        var q: f32[{kept}] = 0.25;
        var n: i64[i, j] = 0;
        for k in {range_} {{ {body} }}
        y[i, j] = p + q * before - (n as f32){draw.choice(["", " + x[i, j]"])};
    }}
}}
export program whole(x: in f32[M, N], y: out f32[M, N], s: i64) {{
    let a: f32[M, N] on grid by {by[0]};
    let b: f32[M, N] on grid by {by[1]};
    let c: f32[M, N] on grid by {by[2]};
    copy(x, a);
    copy(x, b);
    for t in 0..2 {{
        spmd looped(s, a, b, c);
        copy(c, {draw.choice("ab")});
    }}
    copy(c, y);
}}
"""


def row_by_row(draw, shape):
    """Returns a program whose blocks write whole rows or columns: at once, in loops, or under conditions."""
    of_rows = draw.random() < 0.5
    size, other = "MN" if of_rows else "NM"
    by = f"({draw_size(draw, 'M')}, _)" if of_rows else f"(_, {draw_size(draw, 'N')})"

    def element(tensor, i, c):
        return f"{tensor}[{i}, {c}" if of_rows else f"{tensor}[{c}, {i}"

    def read():
        i = draw.choice(["i", "i", "i + 1", "i - 3", "2 * i", "i + s"])
        return f"{element(draw.choice('xz'), i, draw.choice(['c', 'c + 1', f'{other} - 1 - c']))} else 0.5]"

    store = element("y", "i", "c") + "]"
    total = f"for c in {other} by {draw.choice([3, 8])} {{ total += sum({read()} over c); }}"
    ways = [f"range c in {other} max 64; let e = {read()} + {read()}; {store} = e / (1.0 + abs(sum(e over c))) + total;",
            f"for c in {other} by {draw.choice([1, 5, 16])} {{ {store} = {read()} - 0.25 * total; }}",
            f"for c in 0..{other} {{ if c % 2 == 0 {{ {store} = {read()}; }} else {{ {store} = total - {read()}; }} }}"]
    return f"""
kernel whole(s: i64, x: in f32[M, N], z: in f32[M, N], y: out f32[M, N]) {{
    spmd for i in {size} by {draw.choice([1, 3, 8])} {{
        var total: f32[i] = 0.0;
        {total}
        {draw.choice(ways)}
    }}
}}
export program rows(x: in f32[M, N], y: out f32[M, N], s: i64) {{
    let a: f32[M, N] on grid by {by};
    let b: f32[M, N] on grid by {draw.choice([by, *draw_distributions(draw, shape, 1)])};
    let c: f32[M, N] on grid by {by};
    copy(x, a);
    copy(x, b);
    for t in 0..3 {{
        spmd whole(s + t, a, b, c);
        {draw.choice(["swap(a, c);", "copy(c, b);", "copy(b, a);"])}
    }}
    copy(c, y);
}}
"""


def updated(draw, shape):
    """Returns a program whose launches read elements that they write."""
    by = draw_distributions(draw, shape, 2)
    update = draw.choice(["u[i, j] = 0.5 * u[i, j] + {};", "u[i, j] += {};", "u[i, j] = {} where u[i, j] > 0.0;",
                          "u[i, j] = if u[i, j] > v[i, j] then u[i, j] - v[i, j] else {}; v[i, j] = u[i, j] * 0.25;"])
    two = "v[" in update
    return f"""
kernel update(s: i64, x: in f32[M, N], u: inout f32[M, N]{", v: inout f32[M, N]" if two else ""}) {{
    spmd for i in M by {draw.choice([1, 4, 7])}, j in N by {draw.choice([3, 8])} {{ {update.format(draw_read(draw, "x", "i", "j"))} }}
}}
export program whole(x: in f32[M, N], y: out f32[M, N], s: i64) {{
    let a: f32[M, N] on grid by {by[0]};
    let b: f32[M, N] on grid by {by[1]};
    let c: f32[M, N] on grid by {by[1]} = 0.25;
    copy(x, a);
    copy(x, b);
    for t in 0..3 {{
        spmd update(s + t, a, b{", c" if two else ""});
        {draw.choice(["copy(b, a);", "copy(c, a);", "swap(b, c);"])}
    }}
    copy(b, y);
}}
"""


class Reductions:
    """Draws a program that reduces a matrix into several tensors in one loop."""

    KEPT = {"[M]": "i", "[N]": "j", "[M, N]": "ij", "[1]": "", "[3, M]": "i"}
    INDICES = {"[M]": "i", "[N]": "j", "[M, N]": "i, j", "[1]": "0", "[3, M]": "1, i"}

    def __init__(self, draw, shape):
        self.draw, self.shape = draw, shape
        self.blocks = {"i": draw.choice([1, 2, 4, 7]), "j": draw.choice([1, 3, 8])}
        if draw.random() < 0.3:
            self.blocks["k"] = 2  # a variable that is never kept
        self.targets = []

    def value(self, kept, type_):
        """Returns a value that has at most the ranges `kept`. It may depend on the blocks of any variable."""
        reads = [draw_read(self.draw, name, "i", "j") for name in "xz"] + ["x[i, j]"] * 4 + ["z[i, j]"] * 2
        value = self.draw.choice(reads)
        if self.draw.random() < 0.4:
            value += f" * {self.draw.choice(reads)}"
        if "k" in self.blocks and self.draw.random() < 0.5:
            value = f"({value}) * w[k]"
        if self.draw.random() < 0.2:
            value = f"(if iota({self.draw.choice('ij')}) % 3 == 0 then {value} else 0.25)"
        # A variable that does not index the result must be summed. A kept one may be, for each block.
        over = [name for name in self.blocks if name not in kept and f"{name}" in "ij" or f"[{name}]" in value]
        over += [name for name in kept if self.draw.random() < 0.15]
        if over:
            value = f"{self.draw.choice(['sum', 'sum', 'max'])}({value} over {', '.join(over)})"
        if self.draw.random() < 0.3:
            value += f" * ({self.draw.choice(list(self.blocks))}.{self.draw.choice(['start', 'size', 'index'])} as f32)"
        return f"({value}) as i64" if type_ == "i64" else value

    def target(self):
        sizes = self.draw.choice(list(self.KEPT))
        type_ = self.draw.choice(["f32", "f32", "i64"])
        op = self.draw.choice(["+=", "+=", "-=", "max=", "min="])
        name = f"t{len(self.targets)}"
        by = ""
        dims = [size for size in sizes[1:-1].split(", ")]
        known = [d for d, size in enumerate(dims) if size in "MN" and (not self.shape or d < 2)]
        if known and self.draw.random() < 0.75:
            chosen = self.draw.sample(known, self.draw.randint(1, len(known) if self.shape else 1))
            by = f" on grid by ({', '.join(draw_size(self.draw, size) if d in chosen else '_' for d, size in enumerate(dims))})"
        first = self.draw.choice(["", f" = {self.draw.choice(['0', '2'])}{'.5' if type_ == 'f32' else ''}"])
        self.targets.append((name, f"{type_}{sizes}", "inout" if first else "out", by, first))
        return f"reduce {name}[{self.INDICES[sizes]}] {op} {self.value(self.KEPT[sizes], type_)};"

    def program(self):
        by = draw_distributions(self.draw, self.shape, 2)
        body = "\n        ".join(self.target() for _ in range(self.draw.randint(1, 3)))
        order = self.draw.sample(sorted(self.blocks), len(self.blocks))
        sizes = {"i": "M", "j": "N", "k": "5"}
        loop = ", ".join(f"{name} in {sizes[name]} by {self.blocks[name]}" for name in order)
        params = "".join(f", {name}: {direction} {type_}" for name, type_, direction, _, _ in self.targets)
        names = [name for name, *_ in self.targets]
        also_stores = "k" not in self.blocks and self.draw.random() < 0.4
        if also_stores:
            body += f"\n        y[i, j] = {draw_read(self.draw, 'x', 'i', 'j')} - 0.5 * z[i, j];"
            params += ", y: out f32[M, N]"
        moved = "" if also_stores else "\n        spmd moved(a, b, c);"
        lets = "\n    ".join(f"let own_{name}: {type_}{by}{first};" for name, type_, _, by, first in self.targets)
        copies = "\n    ".join(f"copy(own_{name}, {name});" for name in names)
        return f"""
kernel reduced(s: i64, x: in f32[M, N], z: in f32[M, N], w: in f32[5]{params}) {{
    spmd for {loop} {{
        {body}
    }}
}}
kernel moved(x: in f32[M, N], z: in f32[M, N], y: out f32[M, N]) {{
    spmd for i in M by 4, j in N by 8 {{ y[i, j] = x[i, j] - 0.5 * z[i + 1, j else 0.0]; }}
}}
export program whole(x: in f32[M, N], w: in f32[5], {", ".join(f"{name}: out {type_}" for name, type_, *_ in self.targets)}, s: i64) {{
    let a: f32[M, N] on grid by {by[0]};
    let b: f32[M, N] on grid by {by[1]};
    let c: f32[M, N] on grid by {by[0]};
    {lets}
    copy(x, a);
    copy(x, b);
    for t in 0..2 {{
        spmd reduced(s, a, b, w, {", ".join(f"own_{name}" for name in names)}{", c" if also_stores else ""});{moved}
        swap(a, c);
    }}
    {copies}
}}
"""


def check_program(draw, number, folder):
    """Returns whether a random program is refused."""
    shape = draw.choice(SHAPES)
    make = draw.choice([computed, looped, row_by_row, updated, lambda *how: Reductions(*how).program()])
    body = make(draw, shape)
    ranks = math.prod(map(int, shape.split(","))) if shape else draw.randint(2, 6)
    file = folder / "random.kdl"
    file.write_text(f"device grid = ranks({shape});{body}")
    plain = folder / "plain.kdl"
    plain.write_text(re.sub(r" on grid by \([^)]*\)", "", body))
    names = re.findall(r"(\w+): out", body[body.index("export program"):])
    arguments = ["--set", f"M={draw.randint(1, 40)}", "--set", f"N={draw.randint(1, 20)}", "--arg", "x=random:1",
                 "--arg", f"s={draw.randint(-3, 3)}"]
    words = [*arguments, *[word for name in names for word in ("--out", f"{name}=@{name}.npy")]]
    one = outputs(["kernelc", "run", str(plain), *words], folder)
    checks.expect(f"program {number} fails without ranks: {one}\n{plain.read_text()}", isinstance(one, dict))
    for path in folder.glob("*.npy"):
        path.unlink()
    # One run gives the results, what is sent and what the interpreter counts, because most of its time is that of compiling.
    done = run(["kernelc", "run", str(file), *words, "--device", f"grid=ranks?count={ranks}", "-v", "--verify"], folder)
    if re.search(r"random\.kdl:\d+:\d+: error: .* \[E04\d\d\]", done.stderr):
        return done.stderr
    checks.expect(f"program {number} differs with {ranks} ranks: {' '.join(words)}\n{file.read_text()}{done.stderr}",
                  done.returncode == 0 and results(folder) == one)
    before = len(checks.failures)
    check_traffic(done, file, arguments, ranks, folder, False)
    if len(checks.failures) > before:
        checks.failures[-1] += f"program {number}: {' '.join(arguments)}\n{file.read_text()}"
    return None


def check_programs(draw, count, folder):
    """Returns why programs are refused. Says from time to time how many have been checked, because a long run may be ended early."""
    refused = []
    for number in range(count):
        reason = check_program(draw, number, folder)
        refused += [reason] if reason else []
        if (number + 1) % 25 == 0:
            print(f"{number + 1} programs, {len(refused)} refused, {len(checks.failures)} failures", flush=True)
    return refused


def check_all(draw, folder):
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=20)
    options = parser.parse_args()
    refused = check_programs(draw, options.programs, folder)
    print(f"{options.programs} random programs, {len(refused)} refused")
    checks.expect(f"{len(refused)} of {options.programs} programs are refused, such as\n{''.join(refused[:1])}",
                  len(refused) * 20 <= options.programs)


if __name__ == "__main__":
    sys.exit(seeds.check_drawn(check_all))
