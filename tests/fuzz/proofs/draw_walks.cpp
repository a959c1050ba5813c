#include "drawer.h"

// Generates parts of kernels in which the proofs must determine which blocks exist, and how their
// accesses are ordered.

namespace kdl::fuzz {

std::string Drawer::Walks() {
  std::string y = Tensor("3 * N + 8");
  std::string domain = Name("d");
  std::string bound = Pick({"N", "N", "N - 1"});
  std::string by = By();
  bool named = Chance(60);
  std::string range = (by.empty() ? "0.." : "") + bound + by;
  std::string text = named ? fmt::format("domain {} = ({});\n", domain, range) : "";
  for (size_t n = 1 + Below(3); n > 0; --n) {
    std::string i = Name("i");
    std::string what = named && Chance(85) ? domain : range;
    std::string dynamic = Chance(4) ? " @dynamic" : "";
    text += fmt::format("spmd for {} in {}{} {{ {} {} }}\n", i, what, dynamic, Store(y, i),
                        Chance(30) ? Store(y, i) : "");
    if (n > 1) text += Sync(50);
  }
  return text;
}

std::string Drawer::DomainInLoop() {
  ++loops_;
  std::string t = Name("t");
  std::string d = Name("d");
  std::string y = Tensor(Pick({"3 * N + 8", "N"}), 5);
  std::string lo = Pick({"0", "0", "0", "1", t, "s"});
  std::string hi = Pick({"N", "N", "N - 1", "N - " + t, t, "M", t + " + 2"});
  bool outside = Chance(30) && !lo.starts_with('t') && hi.find(t) == std::string::npos;
  std::string domain = fmt::format("domain {} = ({}..{}{});\n", d, lo, hi, By());
  std::string walks;
  for (size_t n = 1 + Below(2); n > 0; --n) {
    std::string i = Name("i");
    walks += fmt::format("spmd for {} in {}{} {{ {} }}\n", i, d, Chance(5) ? " @dynamic" : "",
                         Store(y, i, {t}));
    if (n > 1) walks += Sync(30);
  }
  return fmt::format("{}for {} in {}..{} {{\n{}{}{}}}\n", outside ? domain : "", t,
                     Pick({"0", "1"}), Pick({"2", "3", "s", "N"}), outside ? "" : domain, walks,
                     Sync(40));
}

std::string Drawer::Halving() {
  ++loops_;
  std::string h = Name("h");
  std::string i = Name("i");
  std::string y = Tensor("N", 0);
  std::string d = Name("d");
  bool named = Chance(50);
  bool after = Chance(50);
  std::string halve =
      fmt::format("{} = {};\n", h, Pick({h + " / 2", "(" + h + " + 1) / 2", h + " - 1"}));
  std::string range = fmt::format("0..{}{}", h, By());
  std::string walk = named ? fmt::format("domain {} = ({});\nspmd for {} in {}", d, range, i, d)
                           : fmt::format("spmd for {} in {}", i, range);
  walk +=
      fmt::format(" {{ {} }}\n",
                  Pick({fmt::format("{0}[{1}] = {0}[{1}] + {0}[{1} + {2}];", y, i, h),
                        fmt::format("{0}[{1}] = {0}[{1}] + 1.0;", y, i),
                        fmt::format("{0}[{1} + {2}] = 1.0;", y, i, h),
                        fmt::format("{0}[{1}] = {0}[{1}] + {0}[{1} + {2} else 0.0];", y, i, h)}));
  std::string head = Chance(30) ? fmt::format("while {} > 1", h)
                                : fmt::format("for {} in 0..{}", Name("t"), Pick({"2", "3"}));
  return fmt::format("var {} = {};\n{} {{\n{}{}{}{}}}\n", h, Pick({"N", "N / 2", "N"}), head,
                     after ? "" : halve, walk, Sync(60), after ? halve : "");
}

std::string Drawer::LoopsAround() {
  ++loops_;
  std::string a = Name("a");
  std::string b = Name("b");
  std::string i = Name("i");
  std::string y = Tensor("3 * N + 8", 0);
  std::string lo = Pick({"0", a, a + " + 1"});
  std::string hi = Pick({"3", "N", a, "4 - " + a, a + " + 2"});
  std::string start = Pick({"0", "0", a, b});
  std::string end = Pick({"N", "N - 1", "N - " + b, b, a + " + 1"});
  std::string step = Chance(20) ? " step 2" : By();
  std::string inner = Chance(20) ? " step 2" : "";
  return fmt::format(
      "for {} in 0..{} {{\nfor {} in {}..{}{} {{\nspmd for {} in {}..{}{} {{ {} }}\n{}}}\n{}}}\n",
      a, Pick({"2", "3", "M"}), b, lo, hi, inner, i, start, end, step, Store(y, i, {a, b}),
      Sync(50), Sync(30));
}

std::string Drawer::Grids() {
  ++loops_;
  std::string a = Name("a");
  std::string b = Name("b");
  std::string i = Name("i");
  std::string y = Tensor("3 * N + 8", 0);
  std::string lo = Pick({"0", a, a, a + " + 1", "2 * " + a, "s"});
  std::string hi = Pick({"N", "N", "N - " + a, a + " + 3", "2 * " + a + " + 2"});
  int64_t step = 1 + static_cast<int64_t>(Below(3));
  std::string text;
  if (Chance(25)) {
    text = fmt::format("for {} in {}..{} by {} {{\nspmd for {} in 0..1 {{ {}[{}] = 1.0; }}\n", b,
                       lo, hi, step + 1, i, y, b);
  } else {
    std::string index =
        Pick({b, fmt::format("{} + {}", b, i), fmt::format("{} * {} + {}", step, b, i),
              fmt::format("{} + {}", b, Number(0, 2))});
    text = fmt::format("for {} in {}..{} step {} {{\nspmd for {} in 0..{} {{ {}[{}] = 1.0; }}\n", b,
                       lo, hi, step, i, Pick({"1", "2", std::to_string(step)}), y, index);
  }
  return fmt::format("for {} in 0..{} {{\n{}{}}}\n{}}}\n", a, Pick({"2", "3", "N"}), text, Sync(30),
                     Sync(40));
}

std::string Drawer::Steps() {
  std::string i = Name("i");
  int64_t step = 2 + static_cast<int64_t>(Below(3));
  std::string y = Tensor("N + 4", 0);
  std::string stores;
  for (size_t n = 1 + Below(3); n > 0; --n)
    stores += fmt::format(" {}[{} + {}] = 1.0;", y, i, Number(0, Chance(80) ? step - 1 : step));
  return fmt::format("spmd for {} in {}..N step {} {{{} }}\n", i, Pick({"0", "1", "s"}), step,
                     stores);
}

std::string Drawer::Triangle() {
  std::string r = Name("r");
  std::string c = Name("c");
  std::string z = Tensor("N, N");
  std::string end = Pick({r, r + " + 1", "N"});
  std::string start = Chance(20) ? Pick({r, r + " + 1"}) : "0";
  if (start != "0") end = "N";
  std::string stores = fmt::format("{}[{}, {}] = 1.0;", z, r, c);
  if (Chance(60))
    stores += fmt::format(" {}[{}, {}] = {};", z, c, r,
                          Pick({"2.0", fmt::format("{}[{}, {}]", z, r, c)}));
  std::string second;
  if (Chance(30)) {
    std::string q = Name("r");
    std::string e = Name("c");
    second =
        Sync(40) + fmt::format("spmd for {0} in 0..N, {1} in {2}..N {{ {3}[{4}] = 3.0; }}\n", q, e,
                               Pick({q, q + " + 1"}), z, Pick({q + ", " + e, e + ", " + q}));
  }
  return fmt::format("spmd for {} in 0..N, {} in {}..{}{} {{ {} }}\n{}", r, c, start, end,
                     Chance(40) ? " by 2" : "", stores, second);
}

std::string Drawer::Cores() {
  std::string y = Tensor("N + 8", 0);
  std::string i = Name("i");
  std::string place = Pick({"0", "N", "N + 1", "core_id % 8", "s"});
  std::string on_core = Pick(
      {"if core_id == 0 {{ {0}[{1}] = 1.0; }}\n", "if core_id < 4 {{ {0}[N + core_id] = 1.0; }}\n",
       "{0}[core_id] = 1.0;\n", "if core_id == 1 && N > 2 {{ {0}[2] = {0}[0] + 1.0; }}\n"});
  std::string walk =
      fmt::format("spmd for {} in {}{} {{ {} }}\n", i,
                  Chance(5) ? "core_id..N" : Pick({"N", "1..N"}), " by 2", Store(y, i));
  std::string alone = fmt::format(fmt::runtime(on_core), y, place);
  if (Chance(25)) return alone;
  return Chance(50) ? alone + Sync(50) + walk : walk + Sync(50) + alone;
}

std::string Drawer::Counted() {
  std::string c = Name("c");
  std::string t = Name("t");
  std::string y = Tensor("N + 8", 0);
  std::string turns = Pick({"0..core_id", "0..core_id", "core_id..2", "0..s", "0..2"});
  std::string step = Pick({"{0} = 1;", "{0} += 1;", "{0} = {1};", "{0} = 1 - {0};"});
  step = fmt::format(fmt::runtime(step), c, t);
  std::string loop = Pick({"for {0} in {1} {{ {2} }}\n", "for {0} in {1} {{ {2} }}\n",
                           "if core_id > 0 {{ for {0} in 0..2 {{ {2} }} }}\n"});
  loop = fmt::format(fmt::runtime(loop), t, turns, step);
  auto store = [&](const std::string& core) {
    std::string place = Pick({c, c, c + " - 1", c + " + 1", "0", "1"});
    return fmt::format("if core_id == {} {{ {}[{}] = 1.0; }}\n", core, y, place);
  };
  std::string text = fmt::format("var {}: i64 = 0;\n{}{}", c, loop, store("0"));
  return text + Sync(30) + store("1");
}

std::string Drawer::Agreed() {
  std::string v = Name("v");
  std::string t = Name("t");
  std::string i = Name("i");
  std::string r = Name("r");
  std::string number = Pick({"core_id", "core_id", "s", "u", "N"});
  std::string leaves = fmt::format("if {} {} {} {{ {} }}", number, Pick({"==", "<=", ">"}), t,
                                   Pick({"break;", "continue;"}));
  std::string walk = fmt::format("spmd for {} in N by {} {{ {}[{}] = x[{}] + ({} as f32); }}\n", i,
                                 Number(1, 3), Tensor("N", 60), i, i, v);
  switch (Below(4)) {
    case 0:
      return fmt::format("var {0}: i64 = 0;\nfor {1} in 0..5 {{ {2} {0} += 1; }}\n{3}", v, t,
                         leaves, walk);
    case 1:
      return fmt::format("var {0}: i64 = 0;\nfor {1} in 0..2 {{ {2}{0} = {3}; sync; }}\n", v, t,
                         walk, Chance(50) ? number : t);
    case 2:
      return fmt::format("range {0} in clamp({1}, 0, 8) max 8;\nlet {2} = {0}.size;\n{3}", r,
                         number, v, walk);
    default:
      return fmt::format(
          "range {0} in 8;\nvar {1}: i64[{0}] = 0;\n{1}[{0} = clamp({2}, 0, 7)] = 5;\n"
          "let {3} = sum({1} * iota({0}) over {0});\n{4}",
          r, t, number, v, walk);
  }
}

std::string Drawer::Atomic() {
  std::string i = Name("i");
  if (Chance(40)) {
    std::string z = Tensor("N", 60);
    std::string at = Pick({i, i, "p[" + i + "]", "N - 1 - " + i});
    std::string where =
        Chance(30) ? Pick({" where x[" + i + "] > 0.0", " where !(x[" + i + "] > 0.0)"}) : "";
    std::string set = fmt::format("atomic {}[{}] = 1.0{};", z, at, where);
    std::string other =
        Pick({"", fmt::format(" {}[{}] = 2.0;", z, i), fmt::format(" atomic {}[{}] += 2.0;", z, i),
              fmt::format(" atomic {}[N - 1 - {}] += 2.0;", z, i),
              fmt::format(" atomic {}[{}] = 2.0 where !(x[{}] > 0.0);", z, i, i)});
    std::string text = fmt::format("spmd for {} in N by 2 {{ {}{} }}\n", i, set, other);
    if (Chance(60)) return text;
    // The updates in this second loop may read what the first loop has set.
    std::string j = Name("i");
    return text + Sync(40) +
           fmt::format("spmd for {} in N by {} {{ atomic {}[{}] {} 3.0; }}\n", j, Number(2, 3), z,
                       Pick({j, "N - 1 - " + j, "p[" + j + "]"}), Pick({"+=", "+=", "="}));
  }
  std::string y = Tensor("N", 0);
  std::string text =
      fmt::format("spmd for {} in N by 2 {{ atomic {}[p[{}]] += 1.0; {} }}\n", i, y, i,
                  Chance(20) ? fmt::format("{}[{}] = 1.0;", Tensor("N", 0), i) : "");
  if (Chance(40))
    text += Sync(60) +
            fmt::format("spmd for {0} in N by 2 {{ {1}[{0}] = {1}[{0}] + 1.0; }}\n", Name("i"), y);
  return text;
}

std::string Drawer::LaunchTensor() {
  std::string part = Name("part");
  std::string y = Tensor("N", 60);
  std::string i = Name("i");
  std::string j = Name("i");
  std::string shape = Pick({"N", "N", "N + 1", "ceil_div(N, 2)"});
  std::string fill =
      shape.starts_with("ceil")
          ? fmt::format("spmd for {0} in N by 2 {{ {1}[{0}.index] = 1.0; }}\n", i, part)
          : fmt::format("spmd for {0} in {1}{2} {{ {3}[{4}] = x[0 else 0.0]{5}; }}\n", i,
                        Pick({"0..N", "0..N", "0..N", "1..N", "0..N - 1"}), By(), part,
                        Pick({i, i, i, "N - 1 - " + i}),
                        Chance(10) ? " where " + Condition("iota(" + i + ")") : "");
  // A loop over single indices has no iota, so its `where` is removed.
  if (fill.find("iota") != std::string::npos && fill.find(" by ") == std::string::npos)
    fill = fill.substr(0, fill.find(" where ")) + "; }\n";
  std::string use = fmt::format("spmd for {0} in N by 2 {{ {1}[{0}] = {2}[{3}]; }}\n", j, y, part,
                                shape.starts_with("ceil") ? j + ".index"
                                : Chance(80)              ? j
                                                          : "N - 1 - " + j);
  return fmt::format("let {}: f32[{}];\n{}{}{}", part, shape, fill, Sync(80), use);
}

std::string Drawer::Inner() {
  std::string i = Name("i");
  std::string k = Name("k");
  std::string z = Tensor("N, M");
  std::string loop = Pick({"for {0} in M by 2", "for {0} in 0..M", "for {0} in 1..M by 3",
                           "for {0} in 0..M step 2", "for {0} in 0..min(M, s)"});
  std::string head = fmt::format(fmt::runtime(loop), k);
  std::string leave = Chance(10) && loop.find("0..M") != std::string::npos
                          ? fmt::format("if {} == u {{ break; }} ", k)
                          : "";
  std::string store = fmt::format("{}[{}, {}] = 1.0;", z, i, k);
  if (Chance(30)) store += fmt::format(" {}[{}, 0 ] = 1.0;", z, i);
  if (Chance(20)) store = fmt::format("{}[{}, {}] = 1.0;", z, i, "M - 1 - " + k);
  return fmt::format("spmd for {} in N by {} {{ {} {{ {}{} }} }}\n", i, Number(1, 3), head, leave,
                     store);
}

std::string Drawer::Tiling() {
  std::string b = Name("b");
  std::string i = Name("i");
  std::string y = Tensor("N", 60);
  std::string width = Chance(25) ? Block() : Number(2, 4);
  std::string count = Chance(80) ? width : Number(2, 4);
  std::string tiles =
      Pick({"ceil_div(N, {})", "ceil_div(N, {})", "N / {}", "N / {} + 1", "(N + {0} - 1) / {0}"});
  std::string end = fmt::format("{0} * {1} + {2}", b, width, Chance(85) ? width : count);
  if (Chance(85)) end = fmt::format("min({}, N)", end);
  std::string body =
      Chance(50)
          ? fmt::format("for {} in {} * {}..{} {{ {}[{}] = 1.0; }}", i, b, width, end, y, i)
          : fmt::format("for {} in {} * {}..{} by 2 {{ {}[{}] = 1.0; }}", i, b, width, end, y, i);
  return fmt::format("spmd for {} in 0..{} {{ {} }}\n", b, fmt::format(fmt::runtime(tiles), count),
                     body);
}

std::string Drawer::Numbered() {
  std::string r = Name("r");
  std::string b = Name("b");
  std::string i = Name("i");
  std::string y = Tensor("2, N", 70);
  bool by_hand = Chance(60);
  std::string number = by_hand ? b : b + ".index";
  std::string blocks = by_hand ? "0..ceil_div(N, M)" + Pick({"", "", " step 2", " step 3"})
                               : Pick({"N", "M", "N + 4"}) + Pick({" by 1", " by 2", " by 3"});
  std::string part = by_hand ? fmt::format("{0} * M..min({0} * M + M, N)", b) : "0..N by 2";
  std::string text = fmt::format("for {} in {} {{ {}[{}, {}] = 1.0; }}", i, part, y, r, i);
  std::string condition = Pick({"{0} * M == {0}", "{0} * M != {0}", "{0} * M >= {0}", "{0} * M < N",
                                "{0} < M", "{0} * M > 1"});
  condition = fmt::format(fmt::runtime(condition), number);
  if (Chance(50)) text = fmt::format("if {} {{ {} }}", condition, text);
  return fmt::format("spmd for {} in 0..2 {{ for {} in {} {{ {} }} }}\n", r, b, blocks, text);
}

std::string Drawer::Shuffled() {
  std::string y = Tensor("N, M", 30);
  std::string z = Tensor("N, M", 30);
  std::string i = Name("i");
  std::string j = Name("j");
  std::string block = Pick({"16", "16", "4", "3"});
  std::string row = fmt::format("iota({0}) / {1} * {1} + ({2}) % {1}", i, block,
                                Pick({"iota({0}) + 5", "{1} - 1 - iota({0}) % {1}", "iota({0})"}));
  row = fmt::format(fmt::runtime(row), i, block);
  std::string first = fmt::format("{}[{}, {}] = x[{}];", y, i, j, i);
  std::string second = fmt::format("{}[{}, {}] = {}[{}, {} else 0.0];", z, i, j, y, row, j);
  std::string head = fmt::format("{} in N by {}, {} in M by 16", i, block, j);
  if (Chance(50)) return fmt::format("spmd for {} {{ {} {} }}\n", head, first, second);
  std::string d = Name("d");
  return fmt::format(
      "domain {0} = (N by {1}, M by 16);\nspmd for {2}, {3} in {0} {{ {4} }}\n{5}"
      "spmd for {2}, {3} in {0} {{ {6} }}\n",
      d, block, i, j, first, Sync(20), second);
}

std::string Drawer::Vars() {
  std::string c = Name("c");
  std::string i = Name("i");
  std::string t = Name("t");
  std::string step =
      Pick({fmt::format("{} += 1;", c), fmt::format("{} += 2;", c), fmt::format("{} = {};", c, t),
            fmt::format("{0} = 2 * {0} + 1;", c), fmt::format("{} = N - {};", c, t)});
  if (Chance(50)) {
    std::string y = Tensor("N, 8", 0);
    return fmt::format(
        "spmd for {} in 0..N {{ var {}: i64 = {}; for {} in 0..{} {{ {}[{}, {}] = 1.0; {} }} }}\n",
        i, c, Pick({"0", "0", "s"}), t, Pick({"8", "4", "3"}), y, Pick({i, i, "N - 1 - " + i, c}),
        Pick({c, t}), step);
  }
  ++loops_;
  std::string y = Tensor("3 * N + 8", 0);
  return fmt::format(
      "var {}: i64 = 0;\nfor {} in 0..{} {{\nspmd for {} in {}..N by 2 {{ {} }}\n{}{}\n}}\n", c, t,
      Pick({"2", "3"}), i, Pick({"0", "0", c}), Store(y, i, {c, t}), Sync(50), step);
}

std::string Drawer::IfAround() {
  std::string y = Tensor("N + 4", 0);
  auto walk = [&] {
    std::string i = Name("i");
    return fmt::format("spmd for {} in {}..N{} {{ {}[{}{}] = 1.0; }}\n", i, Pick({"0", "0", "1"}),
                       By(), y, i, Pick({"", "", " + 1"}));
  };
  auto condition = [&] { return Pick({"s > 0", "s > u", "N > 3", "u == 0", "M > s"}); };
  std::string text = fmt::format("if {} {{\n{}{}}}", condition(), walk(), Sync(40));
  if (Chance(60)) text += fmt::format(" else {{\n{}{}}}", walk(), Sync(40));
  text += "\n" + Sync(30);
  if (Chance(50))
    text += Chance(50) ? fmt::format("if {} {{\n{}}}\n", condition(), walk()) : walk();
  return text;
}

std::string Drawer::PingPong() {
  ++loops_;
  std::string a = Tensor("N", 0);
  std::string b = Name("z");
  tensors_[b] = "inout f32[N]";
  auto half = [&](const std::string& from, const std::string& to) {
    std::string i = Name("i");
    return fmt::format(
        "spmd for {0} in N by 2 {{ {1}[{0}] = {2}[{0} - 1 else 0.0] + {2}[{0}]; }}\n{3}", i, to,
        from, Sync(80));
  };
  return fmt::format("for {} in 0..{} {{\n{}{}}}\n", Name("t"), Pick({"2", "s", "3"}), half(a, b),
                     half(b, a));
}

std::string Drawer::Reduce() {
  std::string i = Name("i");
  std::string y = Tensor("N", 40);
  std::string total = Name("r");
  tensors_[total] = Pick({"out f32[1]", "inout f32[1]"});
  std::string reader =
      Chance(50) ? Sync(70) + fmt::format("spmd for {0} in N by 2 {{ {1}[{0}] = {2}[0]; }}\n",
                                          Name("i"), y, total)
                 : "";
  return fmt::format(
      "spmd for {0} in N by 2 {{ reduce {1}[0] += sum(x[{0}] over {0}); {2}[{0}] = {3}; }}\n{4}", i,
      total, y, Chance(80) ? "1.0" : total + "[0]", reader);
}

}  // namespace kdl::fuzz
