"""Random kernels that do by hand what passes do: they distribute blocks to cores, cut ends off blocks, mask borders, halve rows to add
them, copy tiles before their use, count in two digits, and load the next tile while they use one. A pass must not take such code for
its own, in which numbers have signs and limits that these do not have."""

from names import Range, Scope, Tensor, Value
from packs import Packs
from tree import statements, text

TYPES = ["i32", "i32", "i64", "u8", "i16", "f32", "f32", "f32", "f64", "f16", "bf16"]
SUMS = {"u8": "u32", "i16": "i32", "f16": "f32", "bf16": "f32"}
SIZES = [0, 1, 2, 3, 5, 8, 16, 17, 31, 64, 65, 100]
LONG_ROWS = [4096, 4100, 5000]  # rows of a reasonable length that GPUs keep in workgroup memory


class Imitations(Packs):

    def imitations(self, name):
        """Generates a kernel with this name."""
        self.sizes = {"M": self.pick([0, 1, 2, 3, 5, 8, 9]), "N": self.pick(SIZES)}
        self.scalars, self.generics, self.done = [], [], []
        self.tensors = [Tensor("x", self.pick(TYPES), ("N",), "in"), Tensor("w", self.pick(TYPES), ("M", "N"), "in"), Tensor("h", "i64", ("4",), "in")]
        scope = Scope()
        scope.tensors = list(self.tensors)
        scope.lets = [Value(dim, "i64", frozenset()) for dim in self.sizes]
        ways = [self.own_share, self.own_share, self.own_blocks, self.own_borders, self.own_tree, self.own_lanes, self.own_copy,
                self.own_digits, self.own_carry, self.own_ahead, self.own_turns, self.own_window]
        drawn = [self.kept_rows] if self.chance(0.05) else [self.pick(ways) for _ in range(self.pick([1, 1, 2]))]
        if self.own_digits in drawn:  # beside other products of sizes, its proof takes too many steps
            drawn = [self.own_digits]
        self.shows["imitation"] += len(drawn)
        first = [self.drawn_number(scope, number) for number in range(3)]
        body = [way(scope) for way in drawn]
        params = ", ".join(f"{t.name}: {t.direction} {t.type}[{', '.join(t.dims)}]" for t in self.tensors if t.direction != "let")
        shared = [f"let {t.name}: {t.type}[{', '.join(t.dims)}];\n" for t in self.tensors if t.direction == "let"]
        generics = f"<{', '.join(self.generics)}>" if self.generics else ""
        return text(f"kernel {name}{generics}({params}) {{\n", statements(first + shared), statements(body), "}\n")

    def drawn_number(self, scope, number):
        """Generates a number of any sign that is known only at run time, and not 0."""
        name = self.fresh("f")
        scope.lets.append(Value(name, "i64", frozenset()))
        return f"let {name} = (h[{number}] % {self.pick([3, 4, 9])} - {self.pick([0, 1, 4])}) | 1;\n"

    # Parts that several kernels need.

    def of(self, scope, ranges=(), numbers=()):
        """Returns the scope with more ranges, pairs (name, size), and more numbers."""
        inner = scope.read_only()
        inner.ranges = [*scope.ranges, *(Range(name, size, True) for name, size in ranges)]
        inner.lets = inner.lets + [Value(name, "i64", frozenset()) for name in numbers]
        return inner

    def made(self, *dims, direction="inout", types=TYPES):
        tensor = Tensor(self.fresh("y"), self.pick(types), dims, direction)
        self.tensors.append(tensor)
        self.done.append(tensor)
        return tensor

    def stored(self, place, tensor, scope, ranges=()):
        op = "=" if tensor.direction == "out" else self.pick(["=", "+="])
        return text(f"{tensor.name}[{place}] {op} ", self.expression(tensor.type, frozenset(ranges), scope, 2), ";\n")

    def counted_at(self, place, scope):
        """Generates an update of an element that other cores may update, too."""
        tensor = self.made("M + N + 1", types=["i32", "i64", "u32"])
        value = self.expression(tensor.type, frozenset(), scope, 2)
        return text(f"atomic {tensor.name}[clamp({place}, 0, M + N)] {self.pick(['+=', '-=', '^='])} ", value, ";\n")

    def number(self, scope):
        return self.pick([value.name for value in scope.lets if value.type == "i64"] + ["(7 as i64)", "M * N", "(N + 6) / 7"])

    # Loops over the cores' numbers.

    def shared_out(self, total, name):
        """Generates the head of a loop in which each number below the total is that of one core."""
        share, more, begin = (self.fresh(stem) for stem in ("share", "more", "begin"))
        own = f"if core_id < {more} then {share} + 1 else {share}"
        if self.chance(0.3):
            first = self.pick(["", "", f" - {self.pick([1, 7])} * core_num"])
            return "", f"for {name} in core_id{first}..{total} step core_num", "core_id"
        lines = f"let {share} = {total} / core_num;\nlet {more} = {total} % core_num;\n"
        lines += f"let {begin} = {self.pick([f'core_id * {share}', f'{share} * core_id'])} + min(core_id, {more});\n"
        return lines, f"for {name} in {begin}..{begin} + ({own})", begin

    def own_share(self, scope):
        total, count = self.fresh("total"), self.fresh("n")
        factors = [self.number(scope), self.number(scope)]
        lines, head, _ = self.shared_out(total, count)
        divisors = [factor if factor in ("(7 as i64)", "f1") else f"({factor} | 1)" for factor in [*factors, self.number(scope)]]
        quotient, rest, digit = (self.fresh(stem) for stem in ("quotient", "rest", "digit"))
        inner = self.of(scope, numbers=[count, quotient, rest, digit])
        self.shows["own distribution"] += 1
        body = [f"let {quotient} = {count} / {divisors[0]};\nlet {rest} = {count} % {divisors[1]};\nlet {digit} = {quotient} % {divisors[2]};\n"]
        body += [self.counted_at(self.pick([quotient, rest, digit]), inner) for _ in range(self.pick([1, 2]))]
        return text(f"let {total} = {' * '.join(factors)};\n", lines, f"{head} {{\n", statements(body), "}\n")

    def own_carry(self, scope):
        """Generates a loop that advances the digits of a number, as GPUs do with the positions of blocks."""
        total, count, i, j, last = (self.fresh(stem) for stem in ("total", "n", "i", "j", "last"))
        lines, head, begin = self.shared_out(total, count)
        if begin == "core_id":
            return self.own_share(scope)
        base = self.pick(["N", "M", "3"])
        inner = self.of(scope, numbers=[i, j])
        self.shows["own digits that advance"] += 1
        step = f"let {last} = {j} + 1 == {base};\n{i} = if {last} then {i} + 1 else {i};\n{j} = if {last} then 0 else {j} + 1;\n"
        body = [self.counted_at(self.pick([i, j, f"{i} * {base} + {j}"]), inner), step]
        return text(f"let {total} = M * N;\n{lines}var {i}: i64 = {begin} / max({base}, 1);\nvar {j}: i64 = {begin} % max({base}, 1);\n{head} {{\n",
                    statements(body), "}\n")

    # Loops over elements.

    def own_blocks(self, scope):
        """Generates blocks of a row, of which the last may be shorter."""
        block, part, length = self.fresh("block"), self.fresh("i"), self.pick([1, 3, 4, 8, 16])
        is_scalar = self.chance(0.5)
        inner = self.of(scope, [] if is_scalar else [(part, "N")], [block] + [part] * is_scalar)
        tensor = self.made("N", direction=self.pick(["out", "inout"]))
        end = self.pick([f"min({block} * {length} + {length}, N)", f"{block} * {length} + min(N - {block} * {length}, {length})"])
        self.shows["own blocks"] += 1
        by = "" if is_scalar else f" by {self.pick([2, 4, length])}"
        return text(f"spmd for {block} in 0..(N + {length - 1}) / {length} {{\nfor {part} in {block} * {length}..{end}{by} {{\n",
                    statements([self.stored(part, tensor, inner, [] if is_scalar else [part])]), "}\n}\n")

    def own_borders(self, scope):
        """Generates an interior and borders: as loops, or with masks."""
        i, tensor, reach = self.fresh("i"), self.made("N"), self.pick([1, 1, 2])
        inner = self.of(scope, [(i, "N")])
        neighbours = [f"(x[{i} {self.pick('+-')} {self.random.randint(0, reach)}{{}}] as {tensor.type})" for _ in range(2)]
        self.shows["own borders"] += 1
        if self.chance(0.5):
            value = " + ".join(neighbours).format("", "")
            border = [f"for b in 0..min({reach}, N) {{ {tensor.name}[b] += 1 as {tensor.type}; }}\n",
                      f"for b in max(N - {reach}, {reach})..N {{ {tensor.name}[b] += 2 as {tensor.type}; }}\n"]
            return text(f"spmd for {i} in {reach}..N - {reach} by {self.block_size()} {{\n{tensor.name}[{i}] += {value};\n}}\n",
                        "if core_id == 0 {\n", statements(border), "}\n")
        value = " + ".join(neighbours).format(" else 0", " else 1")
        mask = self.fresh("inside")
        stores = [f"{tensor.name}[{i}] += {value} where {mask};\n", text(f"{tensor.name}[{i}] = ", self.chosen(tensor.type, frozenset([i]), inner), f" where !{mask};\n")]
        self.random.shuffle(stores)
        return text(f"spmd for {i} in N by {self.block_size()} {{\nlet {mask} = iota({i}) >= {reach} && iota({i}) < N - {reach};\n", statements(stores), "}\n")

    def own_tree(self, scope):
        """Generates a sum by halves."""
        r, k, tile, width = self.fresh("r"), self.fresh("k"), self.fresh("t"), self.pick([4, 8, 16, 64])
        inner = self.of(scope, [(k, str(width))], [r])
        tensor = self.made("M", direction="out")
        type_ = tensor.type
        turn = f"{tile} = " + self.pick([f"if iota({k}) < {{0}} then {tile} + {tile}[{k} = min(iota({k}) + {{0}}, {width - 1})] else {tile};\n",
                                         f"{tile} + {tile}[{k} = (iota({k}) + {{0}}) % {width}];\n"])
        self.shows["own tree"] += 1
        if self.chance(0.4):
            half = self.fresh("half")
            turns = f"var {half}: i64 = {width // 2};\nwhile {half} > 0 {{\n{turn.format(half)}{half} = {half} / 2;\n}}\n"
        else:
            turns = "".join(turn.format(width >> step) for step in range(1, width.bit_length()))
        return text(f"range {k} in {width};\nspmd for {r} in 0..M {{\nvar {tile}: {type_}[{k}] = ", self.expression(type_, frozenset([k]), inner, 2), ";\n", turns,
                    f"{tensor.name}[{r}] = {tile}[{k} = 0];\n}}\n")

    def own_lanes(self, scope):
        """Generates sums in lanes that are added in the end."""
        r, lane, c, sums, width = self.fresh("r"), self.fresh("lane"), self.fresh("c"), self.fresh("s"), self.pick([4, 16, 64])
        tensor = self.made("M", direction="out", types=["f32", "i32", "i64"])
        type_ = tensor.type
        first = self.pick([f"{c} * {width}", c])
        head = f"0..N / {width}" if first != c else f"0..N - {width - 1} step {width}"
        one = f"if iota({lane}) == {c} % {width} then {sums} + (w[{r}, {c}] as {type_}) else {sums}"
        rest = f"for {c} in N / {width} * {width}..N {{ {sums} = {one}; }}\n"
        self.shows["own lanes"] += 1
        return text(f"range {lane} in {width};\nspmd for {r} in 0..M {{\nvar {sums}: {type_}[{lane}] = 0;\n",
                    f"for {c} in {head} {{ {sums} += w[{r}, {first} + {lane}] as {type_}; }}\n{rest}{tensor.name}[{r}] = sum({sums} over {lane});\n}}\n")

    def own_copy(self, scope):
        """Generates a copy of rows that is read in another order."""
        r, k, i, tile = self.fresh("r"), self.fresh("k"), self.fresh("i"), self.fresh("copy")
        inner = self.of(scope, [(i, "N")], [r])
        tensor = self.made("M", "N", direction="out")
        place = self.pick([f"N - 1 - iota({i})", f"iota({i})", f"(iota({i}) * 3) % max(N, 1)", f"min(iota({i}) + 1, N - 1)"])
        factor = self.pick(["", f" + (x[{k}] as {{}})", " * 2"]).format(self.tensors[1].type)
        self.shows["own copy"] += 1
        return text(f"range {k} in N max 128;\nspmd for {r} in 0..M {{\nlet {tile} = w[{r}, {k}]{factor};\nfor {i} in N by {self.block_size()} {{\n",
                    f"{tensor.name}[{r}, {i}] = ({tile}[{k} = {place}] as {tensor.type}) + ", self.expression(tensor.type, frozenset([i]), inner, 3), ";\n}\n}\n")

    def own_digits(self, scope):
        """Generates a loop over the elements of two dimensions, by number."""
        n, i, j = self.fresh("n"), self.fresh("i"), self.fresh("j")
        inner = self.of(scope, numbers=[n, i, j])
        tensor = self.made("M", "N")
        self.shows["own digits"] += 1
        return text(f"spmd for {n} in 0..M * N {{\nlet {i} = {n} / N;\nlet {j} = {n} % N;\n", statements([self.stored(f"{i}, {j}", tensor, inner)]), "}\n")

    def own_ahead(self, scope):
        """Generates a loop that loads the tile of the next iteration before it uses that of this one."""
        r, k, turn, now, next_, acc = (self.fresh(stem) for stem in ("r", "k", "turn", "now", "next", "acc"))
        width = self.pick([4, 8, 16, 32])
        of = self.tensors[1].type
        tensor = self.made("M", direction="out", types=[SUMS.get(of, of)])
        load = f"w[{r}, {{}} + {k} else 0]"
        use = self.pick([f"sum({now} over {k})", f"dot({now}, {now} over {k})", f"max({now} over {k}) as {tensor.type}"])
        pipelined = self.pick(["", "", " @pipelined(2)"])
        self.shows["own prefetch"] += 1
        return text(f"range {k} in {width};\nspmd for {r} in 0..M {{\nvar {acc}: {tensor.type} = 0;\nvar {now}: {of}[{k}] = {load.format(0)};\n",
                    f"for {turn} in 0..(N + {width - 1}) / {width}{pipelined} {{\nlet {next_} = {load.format(f'({turn} + 1) * {width}')};\n{acc} += {use};\n{now} = {next_};\n}}\n",
                    f"{tensor.name}[{r}] = {acc};\n}}\n")

    def own_turns(self, scope):
        """Generates turns that read one half of a tensor and write the other."""
        turn, i = self.fresh("turn"), self.fresh("i")
        tensor = self.made("2", "N", direction="let")
        result = self.made("N", direction="out")
        turns, block = self.pick([1, 2, 3]), self.block_size()
        inner = self.of(scope, [(i, "N")], [turn])
        neighbours = f"{tensor.name}[{turn} % 2, {i} - 1 else 0] + {tensor.name}[{turn} % 2, {i} + 1 else 1]"
        value = self.expression(tensor.type, frozenset([i]), inner, 3)
        self.shows["own double buffer"] += 1
        fill = text(f"spmd for {i} in N by {block} {{\n{tensor.name}[0, {i}] = ", self.expression(tensor.type, frozenset([i]), self.of(scope, [(i, 'N')]), 3), f";\n{tensor.name}[1, {i}] = 0;\n}}\nsync;\n")
        return text(fill, f"for {turn} in 0..{turns} {{\nspmd for {i} in N by {block} {{\n{tensor.name}[({turn} + 1) % 2, {i}] = {neighbours} + ", value,
                    f";\n}}\nsync;\n}}\nspmd for {i} in N by {block} {{ {result.name}[{i}] = {tensor.name}[{turns % 2}, {i}] as {result.type}; }}\n")

    def own_window(self, scope):
        """Generates a loop over starts of blocks, whose windows end before the next one begins."""
        r, c, p, acc = self.fresh("r"), self.fresh("c"), self.fresh("p"), self.fresh("acc")
        tensor = self.made("M", direction="out", types=["f32", "i32", "i64"])
        type_, length = tensor.type, self.pick([4, 8, 16, 64])
        self.shows["own windows"] += 1
        window = self.pick([f"{c} in M", f"{c}", f"{c} - 1 in N", f"{c} + 2 in M"])
        head, kept = self.pick([(f"{r} in 0..M", ""), (f"{r} in M by {self.pick([2, 8])}", f"[{r}]")])
        return text(f"spmd for {head} {{\nvar {acc}: {type_}{kept} = 0;\nfor {c} in N by {length} {{\nrange {p} over {window};\n",
                    f"{acc} += sum((w[{r}, {p} else 0] as {type_}) over {p});\n}}\n{tensor.name}[{r}] = {acc};\n}}\n")

    def kept_rows(self, scope):
        """Generates two loops over long rows, which a GPU keeps in workgroup memory, and a loop that reads what the same core has
        written. Windows in these loops need not cover the rows."""
        self.sizes |= {"C": self.pick(LONG_ROWS), "M": self.pick([1, 2, 5, 9])}
        rows = Tensor("rows", self.pick(["f32", "i32", "f16"]), ("M", "C"), "in")
        self.tensors.append(rows)
        type_ = SUMS.get(rows.type, rows.type)
        sums, most, twice = (self.made("M", direction="out", types=[type_]) for _ in range(3))
        length, block = self.pick([512, 1000, 1024, 2048]), self.pick([1, 2, 8])
        window, read = self.pick([("", "c"), ("", "c"), (f"range p over c in {self.pick('CN')};\n", "p else 0")])
        over = read[0]
        difference = self.pick(["", " - m"])
        passes = [f"var m: {type_}[r] = 0;\nfor c in C by {length} {{ {window}m = max(m, max(rows[r, {read}] over {over}) as {type_}); }}\n",
                  f"var s: {type_}[r] = 0;\nfor c in C by {length} {{ {window}s += sum((rows[r, {read}] as {type_}){difference} over {over}); }}\n"]
        stores = f"{sums.name}[r] = s;\n{most.name}[r] = m;\n"
        in_domain = self.chance(0.7)
        self.shows["long rows in a domain" if in_domain else "long rows"] += 1
        domain, head, barrier = (f"domain d = (M by {block});\n", "r in d", "") if in_domain else ("", f"r in M by {block}", "sync;\n")
        return text(domain, f"spmd for {head} {{\n", statements([*passes, stores]), f"}}\n{barrier}spmd for {head} {{\n",
                    statements([f"{twice.name}[r] = {sums.name}[r] * 2 + {most.name}[r];\n"]), "}\n")
