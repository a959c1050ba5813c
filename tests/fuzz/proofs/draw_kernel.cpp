#include "draw_kernel.h"

#include <fmt/format.h>

#include <initializer_list>
#include <map>
#include <random>
#include <string_view>
#include <vector>

namespace kdl::fuzz {

namespace {

using Texts = std::vector<std::string>;

/// Statements about tensors that they share, each of which is right for some of the constants that it draws, and wrong for
/// others.
class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  DrawnKernel Draw() {
    using Part = std::string (Drawer::*)();
    static constexpr std::pair<const char*, Part> kParts[] = {
        {"walks", &Drawer::Walks},         {"domain in a loop", &Drawer::DomainInLoop},
        {"halving", &Drawer::Halving},     {"loops around", &Drawer::LoopsAround},
        {"step", &Drawer::Steps},          {"triangle", &Drawer::Triangle},
        {"else if", &Drawer::Chain},       {"where", &Drawer::Where},
        {"interleaved", &Drawer::Strided}, {"joined", &Drawer::Joined},
        {"view", &Drawer::View},           {"red-black", &Drawer::RedBlack},
        {"flat index", &Drawer::Flat},     {"cores", &Drawer::Cores},
        {"atomic", &Drawer::Atomic},       {"launch tensor", &Drawer::Part_},
        {"inner loop", &Drawer::Inner},    {"ping-pong", &Drawer::PingPong},
        {"reduce", &Drawer::Reduce},       {"grids", &Drawer::Grids},
    };
    std::string body;
    size_t count = Chance(70) ? 1 : 2;
    for (size_t n = 0; n < count; ++n) {
      const auto& [feature, part] = kParts[Below(std::size(kParts))];
      drawn_.features.insert(feature);
      if (n > 0 && Chance(60)) body += "sync;\n";
      std::string text = (this->*part)();
      if (loops_ == 0 && Chance(8)) {
        drawn_.features.insert("loop around all");
        text = fmt::format("for {} in 0..{} {{\n{}{}}}\n", Name("o"), Pick({"2", "3", "s"}), text,
                           Chance(60) ? "sync;\n" : "");
      }
      body += text;
      loops_ = 0;
    }
    std::string params;
    for (const auto& [name, declared] : tensors_) params += fmt::format(", {}: {}", name, declared);
    drawn_.text = fmt::format(
        "kernel k(x: in f32[N], v: in f32[M], p: in i32[N], s: i64, u: i64{}) {{\n{}}}\n", params,
        views_ + body);
    return std::move(drawn_);
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }
  std::string Pick(const Texts& list) { return list[Below(list.size())]; }
  std::string Number(int64_t least, int64_t most) {
    return std::to_string(least +
                          static_cast<int64_t>(Below(static_cast<size_t>(most - least + 1))));
  }
  std::string Name(std::string_view letter) { return fmt::format("{}{}", letter, names_++); }
  std::string By() { return Pick({" by 2", " by 3", " by 4", "", " by 1"}); }
  std::string Sync(size_t percent) { return Chance(percent) ? "sync;\n" : ""; }

  /// A tensor of this shape; what stands there is often shared by several statements.
  std::string Tensor(const std::string& shape, size_t percent_out = 25) {
    for (const auto& [name, declared] : tensors_) {
      if (declared.ends_with("f32[" + shape + "]") && Chance(80)) return name;
    }
    std::string name = Name("y");
    bool is_out = Chance(percent_out);
    if (is_out) drawn_.features.insert("out");
    tensors_[name] = fmt::format("{} f32[{}]", is_out ? "out" : "inout", shape);
    return name;
  }

  /// An index made of a binder and of what stands around it.
  std::string Index(const std::string& i, const Texts& around = {}) {
    size_t pick = Below(100);
    if (pick < 45) return i;
    if (pick < 60) return fmt::format("{} + {}", i, Number(1, 2));
    if (pick < 70) return fmt::format("2 * {} + {}", i, Number(0, 1));
    if (pick < 74) return fmt::format("N - 1 - {}", i);
    if (pick < 76) return fmt::format("{} / 2", i);
    if (pick < 78) return fmt::format("p[{}]", i);
    if (around.empty()) return i;
    if (pick < 94) return fmt::format("{} + {}", i, Pick(around));
    return fmt::format("{} + 2 * {}", i, Pick(around));
  }

  std::string Right(const std::string& element, const std::string& y, const std::string& i,
                    const Texts& around) {
    size_t pick = Below(100);
    if (pick < 45) return "1.0";
    if (pick < 75) return element + " + 1.0";
    return fmt::format("{}[{}] + 1.0", y, Index(i, around));
  }

  std::string Store(const std::string& y, const std::string& i, const Texts& around = {}) {
    std::string element = fmt::format("{}[{}]", y, Index(i, around));
    return fmt::format("{} = {};", element, Right(element, y, i, around));
  }

  /// A condition on the number `i`; few, so that they repeat.
  std::string Condition(const std::string& i) {
    return Pick({fmt::format("{} < s", i), fmt::format("{} >= s", i), fmt::format("{} == 0", i),
                 fmt::format("{} != 0", i), fmt::format("{} % 2 == 0", i),
                 fmt::format("{} % 2 == 1", i), fmt::format("{} == N - 1", i),
                 fmt::format("{} < u", i), "s > u", "s <= u", fmt::format("{} < s && {} < u", i, i),
                 fmt::format("{} < s || {} >= u", i, i), fmt::format("!({} < u)", i)});
  }
  std::string ConditionOfMemory(const std::string& i) {
    return Pick({fmt::format("p[{}] > 0", i), fmt::format("!(p[{}] > 0)", i),
                 fmt::format("p[{}] <= 0", i), fmt::format("x[{}] > 0.0", i)});
  }

  std::string Bound() { return Pick({"N", "N", "N", "M", "N - 1", "N / 2", "4"}); }

  // -- The parts ----------------------------------------------------------------------------------

  /// Several walks, over one domain or not, with and without `sync` between.
  std::string Walks() {
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

  /// Its bounds stand still or change from turn to turn.
  std::string DomainInLoop() {
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

  /// As in a reduction by halves.
  std::string Halving() {
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

  /// Loops that start or end where an outer one stands.
  std::string LoopsAround() {
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

  /// A loop whose turns touch every few elements, from where an outer loop stands.
  std::string Grids() {
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
      text = fmt::format("for {} in {}..{} step {} {{\nspmd for {} in 0..{} {{ {}[{}] = 1.0; }}\n",
                         b, lo, hi, step, i, Pick({"1", "2", std::to_string(step)}), y, index);
    }
    return fmt::format("for {} in 0..{} {{\n{}{}}}\n{}}}\n", a, Pick({"2", "3", "N"}), text,
                       Sync(30), Sync(40));
  }

  std::string Steps() {
    std::string i = Name("i");
    int64_t step = 2 + static_cast<int64_t>(Below(3));
    std::string y = Tensor("N + 4", 0);
    std::string stores;
    for (size_t n = 1 + Below(3); n > 0; --n)
      stores += fmt::format(" {}[{} + {}] = 1.0;", y, i, Number(0, Chance(80) ? step - 1 : step));
    return fmt::format("spmd for {} in {}..N step {} {{{} }}\n", i, Pick({"0", "1", "s"}), step,
                       stores);
  }

  std::string Triangle() {
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
          Sync(40) + fmt::format("spmd for {0} in 0..N, {1} in {2}..N {{ {3}[{4}] = 3.0; }}\n", q,
                                 e, Pick({q, q + " + 1"}), z, Pick({q + ", " + e, e + ", " + q}));
    }
    return fmt::format("spmd for {} in 0..N, {} in {}..{}{} {{ {} }}\n{}", r, c, start, end,
                       Chance(40) ? " by 2" : "", stores, second);
  }

  /// Branches that write different elements, as far as their conditions say so.
  std::string Chain() {
    std::string i = Name("i");
    std::string y = Tensor(Pick({"N", "N + 4"}), 30);
    auto store = [&] {
      return fmt::format("{}[{}{}] = 1.0;", y, i, Pick({"", "", "", " + 1", " - 1"}));
    };
    auto condition = [&] { return Chance(85) ? Condition(i) : ConditionOfMemory(i); };
    std::string text = fmt::format("if {} {{ {} }}", condition(), store());
    for (size_t n = Below(3); n > 0; --n)
      text += fmt::format(" else if {} {{ {} }}", condition(), Chance(90) ? store() : "continue;");
    if (Chance(70)) text += fmt::format(" else {{ {} }}", store());
    if (Chance(40)) text += fmt::format("\nif {} {{ {} }}", condition(), store());
    return fmt::format("spmd for {} in 0..N {{\n{}\n}}\n", i, text);
  }

  std::string Where() {
    std::string i = Name("i");
    std::string y = Tensor(Pick({"N", "N", "N + 4"}), 60);
    std::string number = fmt::format("iota({})", i);
    std::string first = Chance(70) ? Condition(number) : ConditionOfMemory(i);
    std::string second = Pick({"!(" + first + ")", first, Condition(number), ConditionOfMemory(i)});
    auto store = [&](const std::string& c) {
      return fmt::format(" {}[{}{}] = 1.0 where {};", y, i, Pick({"", "", "", "", " + 1"}), c);
    };
    std::string text = store(first) + store(second);
    if (Chance(30)) text += store(Chance(50) ? first : Condition(number));
    return fmt::format("spmd for {} in N by {} {{{} }}\n", i, Number(1, 4), text);
  }

  std::string Strided() {
    std::string i = Name("i");
    int64_t stride = 2 + static_cast<int64_t>(Below(3));
    std::string y = Tensor(fmt::format("{} * N", stride), 60);
    std::string text;
    bool complete = Chance(75);
    for (int64_t n = 0; n < stride; ++n) {
      int64_t offset = complete ? n : static_cast<int64_t>(Below(static_cast<size_t>(stride)));
      text += fmt::format(" {}[{} * {} + {}] = 1.0;", y, stride, i, offset);
    }
    return fmt::format("spmd for {} in N by {} {{{} }}\n", i, Number(1, 4), text);
  }

  /// Walks over parts of a dimension that make up the whole.
  std::string Joined() {
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

  std::string View() {
    std::string v = Name("w");
    std::string i = Name("i");
    std::string j = Name("j");
    if (Chance(50)) {
      std::string y = Tensor("3 * N");
      views_ += fmt::format("view {}: f32[N, 3] = {};\n", v, y);
      std::string second =
          Chance(50) ? fmt::format(" {}[3 * {} + {}] = 2.0;", y, i, Number(0, 3)) : "";
      std::string column = Chance(50) ? fmt::format("range {} in 3; {}[{}, {}] = 1.0;", j, v, i, j)
                                      : fmt::format("{0}[{1}, {2}] = 1.0; {0}[{1}, {3}] = 1.0;", v,
                                                    i, Number(0, 2), Number(0, 2));
      return fmt::format("spmd for {} in N by 2 {{ {}{} }}\n", i, column, second);
    }
    std::string z = Tensor("N, M");
    views_ += fmt::format("view {}: f32[N * M] = {};\n", v, z);
    std::string first =
        fmt::format("spmd for {0} in N * M by {1} {{ {2}[{0}] = 1.0; }}\n", i, Number(2, 5), v);
    if (Chance(50)) return first;
    return first + Sync(60) +
           fmt::format("spmd for {0} in N by 2, {1} in M by 3 {{ {2}[{0}, {1}] = 2.0; }}\n",
                       Name("i"), j, z);
  }

  std::string RedBlack() {
    std::string i = Name("i");
    std::string j = Name("j");
    std::string z = Tensor("N, M", 0);
    std::string colour = Pick({"0", "1"});
    std::string neighbour =
        Pick({"{0}[{1} - 1, {2} else 0.0] + {0}[{1}, {2} + 1 else 0.0]",
              "{0}[{1} - 1, {2} else 0.0]", "{0}[{1}, {2}]", "{0}[{1}, {2} - 2 else 0.0]", "1.0"});
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

  std::string Flat() {
    std::string n = Name("n");
    std::string k = Name("k");
    if (Chance(25)) {
      std::string y = Tensor("N * M", 40);
      return fmt::format("spmd for {0} in 0..N, {1} in 0..M {{ {2}[M * {0} + {1}] = 1.0; }}\n", n,
                         k, y);
    }
    int64_t extent = 2 + static_cast<int64_t>(Below(3));
    std::string y = Tensor(fmt::format("{} * N + 4", extent), 0);
    int64_t end = extent + (Chance(30) ? 1 : 0);
    std::string order = Chance(70) ? fmt::format("{} in 0..N, {} in 0..{}", n, k, end)
                                   : fmt::format("{} in 0..{}, {} in N by 2", k, end, n);
    std::string second =
        Chance(30) ? fmt::format(" {}[{} * {} + {} + {}] = 2.0;", y, extent, n, k, Number(0, 2))
                   : "";
    return fmt::format("spmd for {} {{ {}[{} * {} + {}] = 1.0;{} }}\n", order, y, extent, n, k,
                       second);
  }

  /// What stands outside of `spmd for`.
  std::string Cores() {
    std::string y = Tensor("N + 8", 0);
    std::string i = Name("i");
    std::string place = Pick({"0", "N", "N + 1", "core_id % 8", "s"});
    std::string on_core =
        Pick({"if core_id == 0 {{ {0}[{1}] = 1.0; }}\n",
              "if core_id < 4 {{ {0}[N + core_id] = 1.0; }}\n", "{0}[core_id] = 1.0;\n",
              "if core_id == 1 && N > 2 {{ {0}[2] = {0}[0] + 1.0; }}\n"});
    std::string walk =
        fmt::format("spmd for {} in {}{} {{ {} }}\n", i, Pick({"N", "1..N"}), " by 2", Store(y, i));
    std::string alone = fmt::format(fmt::runtime(on_core), y, place);
    if (Chance(25)) return alone;
    return Chance(50) ? alone + Sync(50) + walk : walk + Sync(50) + alone;
  }

  std::string Atomic() {
    std::string y = Tensor("N", 0);
    std::string i = Name("i");
    std::string text =
        fmt::format("spmd for {} in N by 2 {{ atomic {}[p[{}]] += 1.0; {} }}\n", i, y, i,
                    Chance(20) ? fmt::format("{}[{}] = 1.0;", Tensor("N", 0), i) : "");
    if (Chance(40))
      text += Sync(60) + fmt::format("spmd for {0} in N by 2 {{ {1}[{0}] = {1}[{0}] + 1.0; }}\n",
                                     Name("i"), y);
    return text;
  }

  std::string Part_() {
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
    // `where` is about ranges: a scalar has no iota.
    if (fill.find("iota") != std::string::npos && fill.find(" by ") == std::string::npos)
      fill = fill.substr(0, fill.find(" where ")) + "; }\n";
    std::string use = fmt::format("spmd for {0} in N by 2 {{ {1}[{0}] = {2}[{3}]; }}\n", j, y, part,
                                  shape.starts_with("ceil") ? j + ".index"
                                  : Chance(80)              ? j
                                                            : "N - 1 - " + j);
    return fmt::format("let {}: f32[{}];\n{}{}{}", part, shape, fill, Sync(80), use);
  }

  /// Loops within a block, over parts of a range and beside it.
  std::string Inner() {
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
    if (Chance(20)) store += fmt::format(" {}[{}, 0 ] = 1.0;", z, i);
    if (Chance(10)) store = fmt::format("{}[{}, {}] = 1.0;", z, i, "M - 1 - " + k);
    return fmt::format("spmd for {} in N by {} {{ {} {{ {}{} }} }}\n", i, Number(1, 3), head, leave,
                       store);
  }

  std::string PingPong() {
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

  std::string Reduce() {
    std::string i = Name("i");
    std::string y = Tensor("N", 40);
    std::string total = Name("r");
    tensors_[total] = Pick({"out f32[1]", "inout f32[1]"});
    std::string reader =
        Chance(50) ? Sync(70) + fmt::format("spmd for {0} in N by 2 {{ {1}[{0}] = {2}[0]; }}\n",
                                            Name("i"), y, total)
                   : "";
    return fmt::format(
        "spmd for {0} in N by 2 {{ reduce {1}[0] += sum(x[{0}] over {0}); {2}[{0}] = {3}; }}\n{4}",
        i, total, y, Chance(90) ? "1.0" : total + "[0]", reader);
  }

  std::mt19937_64 random_;
  DrawnKernel drawn_;
  std::map<std::string, std::string> tensors_;
  std::string views_;
  size_t names_ = 0;
  size_t loops_ = 0;  ///< of the part that is drawn
};

}  // namespace

DrawnKernel DrawKernel(uint64_t seed) {
  // Neighbouring seeds are to give unlike kernels.
  return Drawer((seed + 1) * 0x9e3779b97f4a7c15).Draw();
}

}  // namespace kdl::fuzz
