#include "drawer.h"

// Generates parts of kernels in which the proofs must determine the elements that a block accesses, and
// whether all elements are written.

namespace kdl::fuzz {

std::string Drawer::Chain() {
  std::string i = Name("i");
  std::string y = Tensor(Pick({"N", "N + 4"}), 30);
  auto store = [&] {
    return fmt::format("{}[{}{}] = 1.0;", y, i, Chance(80) ? "" : Pick({" + 1", " - 1"}));
  };
  auto condition = [&] { return Chance(85) ? Condition(i) : ConditionOfMemory(i); };
  std::string text = fmt::format("if {} {{ {} }}", condition(), store());
  for (size_t n = Below(3); n > 0; --n)
    text += fmt::format(" else if {} {{ {} }}", condition(), Chance(90) ? store() : "continue;");
  if (Chance(70)) text += fmt::format(" else {{ {} }}", store());
  if (Chance(40)) text += fmt::format("\nif {} {{ {} }}", condition(), store());
  return fmt::format("spmd for {} in 0..N {{\n{}\n}}\n", i, text);
}

std::string Drawer::Where() {
  std::string i = Name("i");
  std::string y = Tensor(Pick({"N", "N", "N + 4"}), 60);
  std::string number = fmt::format("iota({})", i);
  bool reads = Chance(40);  // reads elements outside the block, unless a condition prevents it
  std::string first = Chance(70) ? Condition(number) : ConditionOfMemory(i);
  if (reads && Chance(60)) first = number + Pick({" > 0", " + 1 < N", " + 2 < N"});
  std::string second = Pick({"!(" + first + ")", first, Condition(number), ConditionOfMemory(i)});
  auto store = [&](const std::string& c) {
    std::string right = reads ? fmt::format("x[{}{}]", i, Pick({"", " + 1", " - 1"})) : "1.0";
    return fmt::format(" {}[{}{}] = {} where {};", y, i, Pick({"", "", "", "", " + 1"}), right, c);
  };
  std::string text = store(first) + store(second);
  if (Chance(30)) text += store(Chance(50) ? first : Condition(number));
  return fmt::format("spmd for {} in N by {} {{{} }}\n", i, Number(1, 4), text);
}

std::string Drawer::Strided() {
  std::string i = Name("i");
  int64_t stride = 2 + static_cast<int64_t>(Below(3));
  std::string y = Tensor(fmt::format("{} * N", stride), 60);
  std::string text;
  bool complete = Chance(60);
  for (int64_t n = 0; n < stride; ++n) {
    int64_t offset = complete ? n : static_cast<int64_t>(Below(static_cast<size_t>(stride)));
    text += fmt::format(" {}[{} * {} + {}] = 1.0;", y, stride, i, offset);
  }
  return fmt::format("spmd for {} in N by {} {{{} }}\n", i, Number(1, 4), text);
}

std::string Drawer::Joined() {
  std::string y = Tensor("N", 70);
  Texts cuts = {"0"};
  for (size_t n = 1 + Below(2); n > 0; --n)
    cuts.push_back(Pick({"N / 2", "min(s, N)", "max(min(u, N), 0)", "N - 1", "1", "min(2, N)"}));
  cuts.push_back("N");
  std::string text;
  for (size_t n = 0; n + 1 < cuts.size(); ++n) {
    std::string i = Name("i");
    std::string from = Chance(93) ? cuts[n] : cuts[n] + " + 1";
    std::string to = Chance(93) ? cuts[n + 1] : cuts[n + 1] + " - 1";
    text += fmt::format("spmd for {} in {}..{}{} {{ {}[{}] = 1.0; }}\n", i, from, to, By(), y, i);
  }
  return text;
}

std::string Drawer::RedBlack() {
  std::string i = Name("i");
  std::string j = Name("j");
  std::string z = Tensor("N, M", 0);
  std::string colour = Pick({"0", "1"});
  std::string neighbour =
      Pick({"{0}[{1} - 1, {2} else 0.0] + {0}[{1}, {2} + 1 else 0.0]", "{0}[{1} - 1, {2} else 0.0]",
            "{0}[{1}, {2}]", "{0}[{1}, {2} - 2 else 0.0]", "1.0"});
  auto half = [&](const std::string& c) {
    std::string a = Name("i");
    std::string b = Name("j");
    std::string right = fmt::format(fmt::runtime(neighbour), z, a, b);
    return fmt::format(
        "spmd for {0} in N by 2, {1} in M by 3 {{ {2}[{0}, {1}] = {3} where (iota({0}) + "
        "iota({1})) % 2 == {4}; }}\n",
        a, b, z, right, c);
  };
  std::string text = half(colour);
  if (Chance(60)) text += Sync(70) + half(Chance(80) ? (colour == "0" ? "1" : "0") : colour);
  return text;
}

std::string Drawer::Flat() {
  std::string n = Name("n");
  std::string k = Name("k");
  if (Chance(40)) {
    bool fits = Chance(50);
    std::string y = Tensor(fits ? "N * M" : "N * M + 4", fits ? 40 : 0);
    std::string columns = fits ? "0..M" : Pick({"0..M + 1", "0..M + 1", "1..M + 1", "1..M"});
    std::string shift = Pick({"", "", "", " + 1", " - 1"});
    std::string rows = "0..N";
    if (!fits && Chance(30)) {  // the last column of a row is the first column of the next one
      columns = "0..M + 1";
      shift = " - 1";
      rows = "1..N";
    }
    return fmt::format("spmd for {0} in {5}, {1} in {2} {{ {3}[M * {0} + {1}{4}] = 1.0; }}\n", n, k,
                       columns, y, shift, rows);
  }
  int64_t extent = 2 + static_cast<int64_t>(Below(3));
  std::string y = Tensor(fmt::format("{} * N + 4", extent), 0);
  int64_t end = extent + (Chance(30) ? 1 : 0);
  std::string order = Chance(70) ? fmt::format("{} in 0..N, {} in 0..{}", n, k, end)
                                 : fmt::format("{} in 0..{}, {} in N by 2", k, end, n);
  std::string second =
      Chance(30) ? fmt::format(" {}[{} * {} + {} + {}] = 2.0;", y, extent, n, k, Number(0, 2)) : "";
  return fmt::format("spmd for {} {{ {}[{} * {} + {}] = 1.0;{} }}\n", order, y, extent, n, k,
                     second);
}

std::string Drawer::Three() {
  std::string i = Name("i");
  std::string j = Name("j");
  std::string c = Name("c");
  std::string z = Tensor("N, M, 3", 50);
  std::string last = Chance(50) ? fmt::format("range {} in 3;", c) : "";
  if (last.empty()) c = Number(0, 2);
  if (!last.empty() && Chance(40))
    c = fmt::format(fmt::runtime(Pick({"iota({0}) / 2", "iota({0}) % 2", "2 - iota({0})",
                                       "(iota({0}) + 1) % 3"})),
                    c);
  std::string first = Pick({i, i, i, "N - 1 - " + i});
  std::string head =
      Pick({"spmd for {0} in N by 2, {1} in M by 3 {{ ", "spmd for {0} in 0..N, {1} in M by 2 {{ ",
            "spmd for {0} in N by 3 {{ for {1} in M by 2 {{ ",
            "spmd for {1} in M by 2 {{ for {0} in 0..N {{ "});
  std::string text = fmt::format(fmt::runtime(head), i, j);
  text += fmt::format("{} {}[{}, {}, {}] = 1.0;", last, z, first, j, c);
  if (Chance(30))
    text += fmt::format(" {}[{}, {}, {}] = 2.0;", z, i, Pick({j, j, "0"}), Number(0, 2));
  return text + (head.find("for {1}") != std::string::npos &&
                         head.find("spmd for {0} in N by 3") != std::string::npos
                     ? " } }\n"
                 : head.starts_with("spmd for {1}") ? " } }\n"
                                                    : " }\n");
}

std::string Drawer::Square() {
  std::string r = Name("r");
  std::string c = Name("c");
  std::string z = Tensor("N, N", 60);
  bool is_row = Chance(35);  // the loop is over rows only
  std::string head = is_row ? "spmd for {0} in N by 2 {{ {2} }}\n"
                            : Pick({"spmd for {0} in N by 2, {1} in N by 3 {{ {2} }}\n",
                                    "spmd for {0} in N by 2 {{ for {1} in N by 3 {{ {2} }} }}\n",
                                    "spmd for {0} in 0..N {{ for {1} in N by 2 {{ {2} }} }}\n"});
  auto store = [&] {
    std::string first = is_row || Chance(75) ? r : c;
    std::string second = is_row || Chance(15) ? r : c;
    return fmt::format("{}[{}, {}] = 1.0;", z, first, second);
  };
  std::string text = store() + (Chance(25) ? " " + store() : "");
  return fmt::format(fmt::runtime(head), r, c, text);
}

std::string Drawer::Pair() {
  std::string i = Name("i");
  std::string shape = Pick({"N", "N", "N + 1"});
  std::string a = Name("y");
  std::string b = Name("y");
  for (const std::string& y : {a, b}) tensors_[y] = fmt::format("out f32[{}]", shape);
  auto store = [&](const std::string& y) {
    std::string text = fmt::format("{}[{}{}] = 1.0;", y, i, Pick({"", "", "", " + 1"}));
    if (Chance(30)) text = fmt::format("if {} {{ {} }}", Condition(i), text);
    return text + " ";
  };
  std::string text = store(a) + (Chance(85) ? store(b) : store(a));
  if (Chance(30))
    text = fmt::format("for {} in 0..{} {{ {} }} ", Name("t"), Pick({"2", "M"}), text);
  return fmt::format("spmd for {} in 0..{} {{ {}}}\n", i, shape, text);
}

std::string Drawer::Opaque() {
  std::string i = Name("i");
  std::string y = Tensor("N + 1", 20);
  Texts pool = {ConditionOfMemory(i), ConditionOfMemory(i), Condition(i)};
  auto store = [&] { return fmt::format("{}[{}{}] = 1.0;", y, i, Pick({"", "", "", " + 1"})); };
  std::string text;
  for (size_t n = 1 + Below(2); n > 0; --n) {
    std::string inner =
        Chance(40) ? fmt::format("if {} {{ {} }} else {{ {} }}", Pick(pool), store(), store())
                   : store();
    text += fmt::format("if {} {{ {} }}", Pick(pool), inner);
    if (Chance(60)) text += fmt::format(" else {{ {} }}", store());
    text += "\n";
  }
  return fmt::format("spmd for {} in 0..N {{\n{}}}\n", i, text);
}

std::string Drawer::Computed() {
  std::string i = Name("i");
  std::string c = Name("c");
  std::string k = Number(2, 3);
  std::string y = Tensor(Pick({"N", "3 * N + 8", "3 * N + 8"}), 10);
  std::string index =
      Pick({"{0} / {1} * {1} + {0} % {1}", "{0} / {1}", "{0} % {1}", "(N - 1 - {0}) / 1",
            "{0} * {1} / {1}", "max({0}, 1)", "min({0} + 1, N - 1)", "{0} / {1} + {0} % {1} * N",
            "{0} + s - s", "s * {0}"});
  std::string element = fmt::format(fmt::runtime(index), i, k);
  return fmt::format("spmd for {} in 0..N {{ let {} = {}; {}[{}] = 1.0; }}\n", i, c, element, y, c);
}

std::string Drawer::Extremes() {
  scalars_.insert({"most: i64", "wide: u32", "big: u64"});
  if (Chance(30))  // starts the kernel with an assert about `most`
    views_ = Pick({"assert(0 <= 4 * most && 4 * most <= N);\n", "assert(0 <= most && most <= N);\n",
                   "assert(0 <= most + most && most + most <= N);\n", "assert(most <= s);\n"}) +
             views_;
  std::string i = Name("i");
  std::string y = Tensor("N + 2", 15);
  std::string w = "(wide as i64)";
  auto condition = [&] {
    std::string condition =
        Pick({"most + 1 <= 0", "most >= 0", "most < 0", "2 * most < 0", "most - 1 > 0", "-most < 0",
              "most > 3", w + " * {} < 0", w + " * {} >= 0", w + " * 4294967296 < 0", w + " > 3",
              "((most as u64) / 2) as i64 + 2 < 0", "max(most as u64, 5) as i64 - 3 >= 0",
              "((wide as u64 - 9) / 2) as i64 + 2 >= 0", "big > 5",
              "big > 5 && big < 18446744073709551000", "big < 9223372036854775813 && big > 7",
              "most as u64 > 9223372036854775807 && most as u64 < 5"});
    return fmt::format(fmt::runtime(condition), w);
  };
  auto store = [&] {
    std::string index =
        Pick({"{0}", "{0}", "{0}", "{0} + 1", "{0} + 1", "{0} + most - most", "{0} + most",
              "{0} + 17179869184 * {1}", "9223372036854775807 / 2 * {0}",
              "({0} * 2305843009213693952 * 4) / 9007199254740992"});
    return fmt::format("{}[{}] = 1.0;", y, fmt::format(fmt::runtime(index), i, w));
  };
  std::string t = Name("t");
  if (Chance(50)) {  // iterations of a loop that may end near the limits of 64 bits
    std::string turns =
        Pick({"most - 8..most", "most - 7..most", "most - 1..most", "most..most + 2"});
    std::string of_turn = Pick({"{0} + 1 < 0", "{0} + 5 < {0}", "{0} + 5 < 0 && {0} > 0",
                                "{0} - 1 > {0}", "{0} + 4611686018427387904 < {0}", "{0} + 2 > 0"});
    of_turn = fmt::format(fmt::runtime(of_turn), t);
    auto store_of_turn = [&] { return fmt::format("{}[{}] = 1.0;", y, Pick({i, i, i + " + 1"})); };
    return fmt::format("spmd for {} in 0..N {{ for {} in {} {{ if {} {{ {} }} {} {{ {} }} }} }}\n",
                       i, t, turns, of_turn, store_of_turn(), Chance(70) ? "else" : "if s > 0",
                       store_of_turn());
  }
  std::string text = fmt::format("if {} {{ {} }}", condition(), store());
  text += Chance(50) ? fmt::format(" else {{ {} }}", store()) : "\n" + store();
  return fmt::format("spmd for {} in 0..N {{ {} }}\n", i, text);
}

std::string Drawer::Divided() {
  std::string i = Name("i");
  std::string shape = Pick({"N, M", "N, M", "M, N", "N + M, N + M", "N, 2 * M", "3, N"});
  std::string z = Tensor(shape, 40);
  std::string column = shape.substr(shape.find(", ") + 2);
  auto store = [&] {
    std::string by = Chance(80) ? "(" + column + ")" : Pick({"N", "M", "2", "3"});
    std::string of = Chance(90) ? by : Pick({"N", "M", "3"});
    std::string number = Chance(85) ? i : Pick({i + " + 1", "N * M - 1 - " + i});
    return fmt::format("{}[({}) / {}, ({}) % {} ] = 1.0;", z, number, by, number, of);
  };
  std::string text = store() + (Chance(25) ? " " + store() : "");
  return fmt::format("spmd for {} in 0..{} {{ {} }}\n", i,
                     Pick({"N * M", "N * M", "N * M", "3 * N", "N", "N * M - 1"}), text);
}

/// Generates a value that is undefined in launches that divide by zero or load out of bounds. Facts derived
/// from this value must not be used for launches in which it is undefined.
std::string Drawer::Partial() {
  std::string y = Tensor("N", 60);
  std::string i = Name("i");
  std::string guard = Pick({"s > 0", "N > 1", "M < 3", "u < 3", "s >= 0 && s < 3", "M > 0"});
  std::string number =
      Pick({"N % M", "N / M", "N % s", "M % N", "kTable[M]", "kTable[s]", "kTable[N]"});
  std::string condition = number + Pick({" >= 0", " > 0", " < M", " < 4", " <= N"});
  auto walk = [&](const std::string& body) {
    return fmt::format("spmd for {} in 0..N{} {{ {} }}\n", i, By(), body);
  };
  std::string store = fmt::format("{}[{}] = 1.0;", y, i);
  auto nested = [&](const std::string& inner) {
    return fmt::format("if {} {{ if {} {{ {} }}{} }}\n", guard, condition, inner,
                       Chance(30) ? " else { " + inner + " }" : "");
  };
  std::string text = Chance(50) ? nested(walk(store)) : walk(nested(store));
  if (Chance(30)) text += fmt::format("if !({}) {{ {} }}\n", guard, walk(store));
  return text;
}

}  // namespace kdl::fuzz
