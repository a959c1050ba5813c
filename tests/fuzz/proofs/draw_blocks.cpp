#include <algorithm>

#include "drawer.h"

// Generates parts of kernels with blocks whose bounds depend on tables, on loops, or on repeated conditions.

namespace kdl::fuzz {

Drawer::Part Drawer::TablePart(const std::string& off, const std::string& e) {
  Part part{fmt::format("{}[{}]", off, e),
            fmt::format("{}[{} + 1]", Chance(95) ? off : Table(), e)};
  if (Chance(10))
    part.to = Pick({part.to + " + 1", part.to + " - 1", fmt::format("{}[{} + 2]", off, e)});
  if (Chance(35)) {
    tensors_["first"] = tensors_["length"] = "in i32[N]";
    part.from = fmt::format("first[{}]", e);
    part.to = Pick({"first[{0}] + length[{0}]", "first[{0}] + length[{0}]",
                    "(first[{0}] as i64) + (length[{0}] as i64)", "length[{0}] + first[{0}]",
                    "first[{0}] + length[{0}] + 1", "first[{0}] + 2 * length[{0}]", "length[{0}]"});
    part.to = fmt::format(fmt::runtime(part.to), e);
  }
  if (Chance(7)) part.from += Pick({" + 1", " - 1"});
  return part;
}

/// Makes a part one of a loop over a length, where the indices of accesses contain the begin. Returns what they add.
std::string Drawer::ShiftPart(Part& part, const std::string& e) {
  tensors_["first"] = tensors_["length"] = "in i32[N]";
  part.from = Pick({"0", "0", "0", "0", "1", fmt::format("first[{}]", e)});
  part.to = fmt::format("length[{}]", e);
  std::string begin =
      fmt::format("{}[{}]", Chance(90) ? "first" : "length", Chance(95) ? e : e + " - 1");
  return fmt::format(fmt::runtime(Pick({"{} + ", "({} as i64) + "})), begin);
}

/// Returns a loop with an assert that says nothing about the part. The assert's message may read
/// like one of the compiler's own checks, but the proofs must not rely on it.
std::string Drawer::UnrelatedAssert(const Part& part, const std::string& e, const std::string& r) {
  std::string text =
      Pick({"{0} <= {1}", "the parts of '{2}' begin at 0, as needed to write the whole output",
            "the parts of '{2}' end at N, as needed to write the whole output",
            "the parts of '{2}' are apart",
            "the parts of '{2}' touch, as needed to write the whole output"});
  text = fmt::format(fmt::runtime(text), part.from, part.to, r);
  return fmt::format("spmd for {0} in 0..N {{ assert({0} < 1000000, \"{1}\"); }}\n", e, text);
}

std::string Drawer::Ragged() {
  std::string off = Table();
  std::string y = Tensor(Pick({"N", "N", "N", "N + 4"}), 45);
  auto walk = [&] {
    // Half of the loops use the same name, so that their checks can have the same text.
    std::string e = Chance(50) ? Name("e") : "e";
    std::string r = Name("r");
    Part bounds = TablePart(off, e);
    std::string shift = Chance(15) ? ShiftPart(bounds, e) : "";
    const auto& [from, to] = bounds;
    std::string unrelated = Chance(20) ? UnrelatedAssert({from, to}, e, r) : "";
    std::string blocks =
        Pick({"0..N", "0..N", "0..N", "0..N", "0..N - 1", "1..N", "0..1", "s..N", "s..u"});
    std::string part = fmt::format("{} in {}..{}{}", r, from, to, By());
    bool is_scalar = part.find(" by ") == std::string::npos;
    // The blocks of a part may be divided again.
    std::string n = !is_scalar && Chance(25) ? Name("n") : r;
    std::string right = Chance(50) ? "1.0" : fmt::format("{}[{}] + 1.0", y, n);
    if (right != "1.0" && tensors_[y].starts_with("out")) right = fmt::format("x[{} else 0.0]", n);
    std::string at = Chance(90) ? n : is_scalar ? Pick({n + " + 1", n + " / 2"}) : n + " + 1";
    at = shift + at;
    std::string store = fmt::format("{}[{}] = {};", y, at, right);
    if (n != r) store = fmt::format("for {} in {} by 2 {{ {} }}", n, r, store);
    if (Chance(8)) store += fmt::format(" {}[{}] = 2.0;", y, e);
    std::string second = Chance(20) ? fmt::format("for {} {{ {}[{}] = 3.0; }} ", part, y, r) : "";
    if (Chance(20)) {
      const auto [begin, end] = TablePart(Table(), e);
      store = fmt::format("for {} in {}..{} {{ {} }}", Name("q"), begin, end, store);
    }
    return unrelated +
           (Chance(50) ? fmt::format("spmd for {} in {}, {} {{ {} }}\n", e, blocks, part, store)
                       : fmt::format("spmd for {} in {} {{ {}for {} {{ {} }} }}\n", e, blocks,
                                     second, part, store));
  };
  std::string text = walk();
  if (Chance(25)) text += Sync(60) + walk();
  if (Chance(85)) return text;
  ++loops_;
  return fmt::format("for {} in 0..2 {{\n{}{}}}\n", Name("t"), text, Sync(60));
}

std::string Drawer::Planes() {
  std::string t = Name("t");
  bool in_loop = Chance(50);
  std::string z = Tensor(Pick({"N, M", "N + 4, M + 4"}), in_loop ? 5 : 35);
  auto range = [&](const std::string& size) {
    std::string lo = in_loop && Chance(25) ? Pick({t, t, "1"}) : Pick({"0", "0", "0", "1"});
    std::string hi = in_loop && Chance(20) ? fmt::format("{} - {}", size, t) : size;
    std::string step = Chance(25) ? Pick({" step 2", " step 3"}) : By();
    return fmt::format("{}..{}{}", lo, hi, step);
  };
  std::string d = Name("d");
  std::string domain = fmt::format("domain {} = ({}, {});\n", d, range("N"), range("M"));
  auto walk = [&] {
    std::string i = Name("i");
    std::string j = Name("j");
    std::string shift = Chance(80) ? "" : Pick({" + 1", " + 2", in_loop ? " + " + t : " + 1"});
    std::string element = fmt::format("{}[{}{}, {}]", z, i, shift, j);
    std::string right = Chance(50) ? "1.0" : element + " + 1.0";
    if (Chance(15)) right = fmt::format("{}[{}, {}] + 1.0", z, i, Pick({j, "0"}));
    std::string second = Chance(20) ? fmt::format(" {}[{}, {} + 1] = 2.0;", z, i, j) : "";
    return fmt::format("spmd for {}, {} in {} {{ {} = {};{} }}\n", i, j, d, element, right, second);
  };
  bool outside = in_loop && domain.find(t) == std::string::npos && Chance(50);
  std::string text = (outside ? "" : domain) + walk();
  if (Chance(50)) text += Sync(35) + walk();
  if (!in_loop) return text;
  ++loops_;
  return fmt::format("{}for {} in 0..{} {{\n{}{}}}\n", outside ? domain : "", t,
                     Pick({"2", "3", "s"}), text, Sync(45));
}

std::string Drawer::DeepLoops() {
  ++loops_;
  std::string y = Tensor("3 * N + 8", 0);
  Texts around;
  std::string head;
  size_t depth = 2 + Below(2);
  for (size_t n = 0; n < depth; ++n) {
    std::string a = Name("a");
    std::string last = around.empty() ? "0" : Pick(around);
    std::string lo = around.empty() ? "0" : Pick({"0", last, last, last + " + 1"});
    std::string hi = around.empty() ? Pick({"2", "3"}) : Pick({"2", "3", last, last + " + 2", "M"});
    std::string step = Chance(15) ? " step 2" : "";
    head += fmt::format("for {} in {}..{}{} {{\n", a, lo, hi, step);
    around.push_back(a);
  }
  std::string i = Name("i");
  std::string start = Pick({"0", "0", Pick(around)});
  std::string end = Pick({"N", "N", Pick(around) + " + 1", "N - " + Pick(around)});
  std::string text = fmt::format("{}spmd for {} in {}..{}{} {{ {} }}\n", head, i, start, end, By(),
                                 Store(y, i, around));
  std::string turn = fmt::format("{} == {}", Pick(around), Pick({"0", "1", Pick(around)}));
  if (Chance(40)) text += fmt::format("if {} {{ sync; }}\n", turn);
  for (size_t n = 0; n < depth; ++n) text += Sync(n + 1 == depth ? 40 : 30) + "}\n";
  return text;
}

std::string Drawer::Branches(const Texts& conditions, const std::string& y, const std::string& i,
                             size_t depth) {
  if (depth == 0 || Chance(25))
    return fmt::format("{}[{}{}] = 1.0;", y, i, Pick({"", "", "", "", " + 1"}));
  std::string condition = Pick(conditions);
  if (Chance(25)) condition = fmt::format("{} {} {}", condition, Pick({"&&", "||"}), condition);
  if (Chance(25)) condition = "!(" + condition + ")";
  std::string text =
      fmt::format("if {} {{ {} }}", condition, Branches(conditions, y, i, depth - 1));
  if (Chance(50))
    text += fmt::format(" else if {} {{ {} }}", Chance(50) ? condition : Pick(conditions),
                        Branches(conditions, y, i, depth - 1));
  if (Chance(70)) text += fmt::format(" else {{ {} }}", Branches(conditions, y, i, depth - 1));
  return text + (Chance(20) ? "\n" + Branches(conditions, y, i, depth - 1) : "");
}

std::string Drawer::Hidden() {
  std::string i = Name("i");
  std::string y = Tensor(Pick({"N", "N + 1"}), 45);
  Texts conditions = {"(" + Condition(i) + ")"};
  if (Chance(50))
    conditions.push_back("(" + (Chance(50) ? Condition(i) : ConditionOfMemory(i)) + ")");
  std::string skip = Chance(15) ? fmt::format("if {} {{ continue; }}\n", Pick(conditions)) : "";
  return fmt::format("spmd for {} in 0..N {{\n{}{}\n}}\n", i, skip, Branches(conditions, y, i, 3));
}

std::string Drawer::Continued() {
  std::string i = Name("i");
  std::string j = Name("j");
  bool inside = Chance(40);
  std::string y = Tensor(inside ? "N, 4" : "N", 60);
  std::string element = inside ? fmt::format("{}[{}, {}]", y, i, j) : fmt::format("{}[{}]", y, i);
  std::string last = inside ? j : i;
  auto turn = [&] {
    std::string condition = Chance(70) ? Condition(last) : ConditionOfMemory(i);
    std::string store = Chance(60) ? element + " = 1.0; " : "";
    std::string end = fmt::format("{}continue;", store);
    if (Chance(25)) end = fmt::format("if {} {{ {} }}", Condition(last), end);
    return fmt::format("if {} {{ {} }}\n", condition, end);
  };
  std::string text;
  for (size_t n = 1 + Below(3); n > 0; --n) text += turn();
  text += element + " = 2.0;\n";
  if (!inside) return fmt::format("spmd for {} in 0..N {{\n{}}}\n", i, text);
  return fmt::format("spmd for {} in 0..N {{ for {} in 0..4 {{\n{}}}\n{} }}\n", i, j, text,
                     Chance(40) ? fmt::format("{}[{}, {}] = 3.0;", y, i, Number(0, 3)) : "");
}

std::string Drawer::Recurrence() {
  std::string i = Name("i");
  std::string t = Name("t");
  std::string z = Tensor("N, M", 80);
  auto at = [&](const std::string& turn) { return fmt::format("{}[{}, {}]", z, i, turn); };
  std::string before = Pick({t + " - 1 else 0.0", t + " - 1", t + " - 2 else 0.0", "0", t,
                             t + " + 1 else 0.0", "M - 1 - " + t});
  std::string recur = fmt::format("{} {} {} + 1.0;", at(t), Pick({"=", "=", "+="}), at(before));
  std::string first = fmt::format("{} = 1.0;", at(Pick({t, t, "0"})));
  std::string condition =
      Chance(75) ? t + Pick({" > 0", " == 0", " > 1", " % 2 == 1", " < s"}) : ConditionOfMemory(i);
  std::string body = Pick({"if {0} {{ {1} }} else {{ {2} }}", "{2} if {0} {{ {1} }}",
                           "if {0} {{ continue; }} {2} {1}", "if {0} {{ {1} }} {2}", "{1}"});
  std::string turns = Pick({"0..M", "0..M", "0..M", "1..M", "0..M step 2"});
  std::string text = fmt::format("for {} in {} {{ {} }}", t, turns,
                                 fmt::format(fmt::runtime(body), condition, recur, first));
  if (Chance(40))
    text += fmt::format(" for {0} in 0..M {{ {1}[{2}, {0}] = 2.0; }}", Name("t"), z, i);
  return fmt::format("spmd for {} in 0..N {{ {} }}\n", i, text);
}

std::string Drawer::Waiting() {
  ++loops_;
  std::string t = Name("t");
  std::string i = Name("i");
  std::string d = Name("d");
  std::string y = Tensor(Pick({"N", "3 * N + 8"}), 0);
  std::string condition = Pick({"{0} > 0", "{0} > 0", "{0} == 0", "{0} % 2 == 0", "{0} < s",
                                "{0} != u", "s > 0", "{0} < 2", "M > {0}"});
  condition = fmt::format(fmt::runtime(condition), t);
  bool ends = Chance(40);
  std::string sync = ends ? fmt::format("if {} {{ {} }}\nsync;\n", condition,
                                        Pick({"continue;", "break;", "break;"}))
                          : fmt::format("if {} {{ sync; }}\n", condition);
  std::string index = Pick({i, "N - 1 - " + i, "{0} + {1}", "{0} + 2 * {1}"});
  std::string store = fmt::format("{}[{}]", y, fmt::format(fmt::runtime(index), i, t));
  std::string walk =
      fmt::format("spmd for {} in {} {{ {} {} }}\n", i, d, store, Pick({"= 1.0;", "+= 1.0;"}));
  std::string first = Chance(30) ? fmt::format("if {} {{\n{}}}\n", condition, walk) : walk;
  return fmt::format("domain {} = (0..N{});\nfor {} in 0..{} {{\n{}}}\n", d, By(), t,
                     Pick({"1", "2", "2", "3", "s"}),
                     ends || Chance(40) ? first + sync : sync + first);
}

std::string Drawer::CoreStages() {
  std::string q = Name("q");
  std::string v = Name("v");
  std::string y = Tensor("N + 8", 0);
  std::string number =
      Pick({"if core_id == 0 then 1.0 else 0.0", "if core_id > 0 then 1.0 else 0.0",
            "if s > 0 then 1.0 else 0.0", "1.0"});
  auto store = [&](const std::string& core) {
    std::string condition = Pick({v + " > 0.5", "!(" + v + " > 0.5)"});
    return fmt::format("if core_id == {} {{ if {} {{ {}[{}] = 1.0; }} }}\n", core, condition, y,
                       Pick({"0", "0", "0", "1"}));
  };
  std::string first = store("0");
  std::string second = store(Pick({"0", "1", "1"}));
  return fmt::format(
      "pipe {0}: f32;\nstage {1} {{ {0}.push({2}); }}\nstage {3} {{\nlet {4} = "
      "{0}.pop();\n{5}{6}}}\n",
      q, Name("g"), number, Name("g"), v, first, second);
}

std::string Drawer::Stages() {
  std::string d = Name("d");
  std::string q = Name("q");
  std::string i = Name("i");
  std::string j = Name("i");
  std::string width = Chance(70) ? Number(1, 3) : Block();
  std::string y = Tensor(Pick({"N", "N", "N + 2"}), 45);
  auto walk = [&](const std::string& z) {
    std::string k = Name("i");
    return fmt::format("spmd for {} in {} {{ {} }}\n", k, Chance(70) ? d : "0..N by " + width,
                       fmt::format("{}[{}{}] = 1.0;", z, k, Chance(90) ? "" : " + 1"));
  };
  std::string z = Name("z");
  tensors_[z] = Pick({"inout f32[N + 1]", "out f32[N]"});
  // Both stages pass tiles through these pipes in each iteration, each stage in its own order.
  Texts passed = {q};
  if (Chance(40)) passed.push_back(Name("q"));
  std::string pipes;
  for (const std::string& pipe : passed) pipes += fmt::format("pipe {}: f32[{}];\n", pipe, width);
  std::string back = passed.size() > 1 && Chance(20) ? passed.back() : "";
  for (size_t n = Chance(50) ? 0 : 1 + Below(3); n > 0; --n) passed.push_back(Pick(passed));
  std::string at = Chance(90) ? "" : " + 1";
  auto turn = [&](bool is_first, const Texts& order, const std::string& b,
                  const std::string& popped) {
    std::string text;
    for (const std::string& pipe : order)
      text += is_first == (pipe != back) ? fmt::format("{0}.push(x[{1}], {1}); ", pipe, b)
                                         : fmt::format("{} = {}.pop({}); ", popped, pipe, b);
    return text;
  };
  auto shuffled = [&] {
    std::ranges::shuffle(passed, random_);
    return passed;
  };
  // In a loop, each stage may count the iterations differently. Both stages may have the same two orders.
  bool repeats = Chance(passed.size() > 1 ? 50 : 10);
  bool alike = Chance(60);
  const Texts orders[] = {shuffled(), shuffled()};
  std::string tested = Pick({"0", "1"});
  auto turns = [&](bool is_first, const std::string& b, const std::string& popped) {
    if (!repeats) return turn(is_first, shuffled(), b, popped);
    std::string t = Name("t");
    return fmt::format("for {0} in {1} {{ if {0} == {2} {{ {3}}} else {{ {4}}} }} ", t,
                       Pick({"0..2", "0..2", "1..3"}), tested,
                       turn(is_first, alike ? orders[0] : shuffled(), b, popped),
                       turn(is_first, alike ? orders[1] : shuffled(), b, popped));
  };
  std::string of_first = turns(true, i, fmt::format("{}[{}]", z, i));
  std::string first = fmt::format("spmd for {} in {} {{ {}{}}}\n", i, d, of_first,
                                  Chance(60) ? fmt::format("{}[{}] = 1.0; ", z, i) : "");
  std::string second = fmt::format("spmd for {} in {} {{ {}}}\n", j, d,
                                   turns(false, j, fmt::format("{}[{}{}]", y, j, at)));
  if (Chance(40)) first += walk(z);
  if (Chance(40)) second = Chance(50) ? walk(y) + second : second + walk(y);
  return fmt::format("domain {} = ({}..N by {});\n{}stage {} {{\n{}}}\nstage {} {{\n{}}}\n", d,
                     Chance(85) ? "0" : "1", width, pipes, Name("g"), first, Name("g"), second);
}

}  // namespace kdl::fuzz
