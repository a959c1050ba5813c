#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "ir/requirement.h"
#include "passes/passes.h"
#include "passes_run.h"

namespace kdl::passes {

namespace {

/// A store whose index is a linear expression in i and j, possibly divided: y[(a * i + b * j + c)] or y[… /
/// d].
struct Index {
  int64_t a, b, c, divisor;

  int64_t At(int64_t i, int64_t j) const { return FloorDivide(a * i + b * j + c, divisor); }
};

/// `spmd for i in N by BI { for j in lo..M by BJ { y[…] = 0; … } }` for a `y` of `size` elements.
struct Case {
  int64_t block_i, block_j, lo;
  std::vector<Index> stores;
  std::string size;  ///< a KIR expression
  std::function<int64_t(int64_t n, int64_t m)> size_of;
  bool is_out;

  std::string Text() const {
    std::string text = fmt::format(
        "kernel @k dims(%N, %M) {{export}} (%x: tensor<f32,[N,M]> in, %y: tensor<f32,[{}]> {}) {{\n"
        "  axis i = N by {}\n  axis j{} by {}\n  require {{compare = gt, left = M, right = {}, "
        "text = \"M\"}}\n  %lo = const {} : i64\n  %z = const 0.0 : f32\n"
        "  %zero = const 0 : i64\n  spmd (%i: block<i> in %zero .. %N) {{distribute = static}} {{\n"
        "    for %j: block<j> in %lo .. %M {{\n",
        size, is_out ? "out" : "inout", block_i, lo == 0 ? " = M" : "", block_j, lo, lo);
    for (size_t s = 0; s < stores.size(); ++s) text += StoreText(stores[s], s);
    return text + "      yield\n    }\n    yield\n  }\n  return\n}\n";
  }

  static std::string StoreText(const Index& index, size_t number) {
    if (index.divisor == 1)
      return fmt::format("      store %z to %y[{}*%i{} + {}] {{bounds = guard, text = \"y\"}}\n",
                         index.a, index.b == 0 ? "" : fmt::format(" + {}*%j", index.b), index.c);
    return fmt::format(
        "      %i{0} = iota %i : tile<i64; i>\n      %j{0} = iota %j : tile<i64; j>\n"
        "      %a{0} = const {1} : i64\n      %b{0} = const {2} : i64\n      %c{0} = const {3} : "
        "i64\n"
        "      %d{0} = const {4} : i64\n      %p{0} = mul %i{0}, %a{0} : tile<i64; i>\n"
        "      %q{0} = mul %j{0}, %b{0} : tile<i64; j>\n      %r{0} = add %p{0}, %q{0} : tile<i64; "
        "i j>\n"
        "      %s{0} = add %r{0}, %c{0} : tile<i64; i j>\n      %t{0} = div %s{0}, %d{0} : "
        "tile<i64; i j>\n"
        "      store %z to %y[%t{0}] {{bounds = guard, text = \"y\"}}\n",
        number, index.a, index.b, index.c, index.divisor);
  }
};

/// The effects of a launch with given sizes, found by enumerating all points.
struct Truth {
  bool outside = false;   ///< some index is out of bounds; no such element is stored
  bool overlaps = false;  ///< two blocks of i store the same element
  bool twice = false;     ///< one store writes an element twice within its blocks
  bool complete = true;   ///< every element is stored; not checked if the launch is refused
};

Truth TruthOf(const Case& test, int64_t n, int64_t m) {
  Truth truth;
  int64_t size = test.size_of(n, m);
  std::map<int64_t, std::set<int64_t>> blocks;
  for (const Index& store : test.stores) {
    bool names_j = store.b != 0 || store.divisor != 1;  // else the index is the same for all j
    std::set<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>> points;
    std::map<std::tuple<int64_t, int64_t, int64_t>, int> count;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = test.lo; j < m; ++j) {
        int64_t element = store.At(i, j);
        truth.outside |= element < 0 || element >= size;
        int64_t block_j = (j - test.lo) / test.block_j;
        bool is_new =
            points.insert({i / test.block_i, block_j, element, i, names_j ? j : 0}).second;
        truth.twice |= is_new && ++count[{i / test.block_i, block_j, element}] > 1;
        if (element >= 0 && element < size) blocks[element].insert(i / test.block_i);
      }
    }
  }
  for (const auto& [element, writers] : blocks) truth.overlaps |= writers.size() > 1;
  truth.complete = m <= test.lo || static_cast<int64_t>(blocks.size()) == size;
  return truth;
}

/// Returns whether `is` is true for some launch with sizes n and m below `most`.
bool Somewhere(const Case& test, int64_t most, const std::function<bool(const Truth&)>& is) {
  for (int64_t n = 0; n < most; ++n) {
    for (int64_t m = 0; m < most; ++m) {
      if (is(TruthOf(test, n, m))) return true;
    }
  }
  return false;
}

Case Draw(std::mt19937_64& random) {
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  Case test;
  test.block_i = 1 + below(3);
  test.block_j = 1 + below(3);
  test.lo = below(4) == 0 ? below(3) : 0;
  int64_t count = 1 + below(2);
  for (int64_t s = 0; s < count; ++s)
    test.stores.push_back({below(5) - 1, below(3) == 0 ? below(4) - 1 : 0, below(3),
                           below(4) == 0 ? 1 + below(3) : 1});
  using SizeOf = std::function<int64_t(int64_t, int64_t)>;
  const std::pair<const char*, SizeOf> sizes[] = {
      {"N", [](int64_t n, int64_t) { return n; }},
      {"(2*N)", [](int64_t n, int64_t) { return 2 * n; }},
      {"(N + M)", [](int64_t n, int64_t m) { return n + m; }},
      {"((N + 1) / 2)", [](int64_t n, int64_t) { return (n + 1) / 2; }},
      {"((4*N) + (3*M))", [](int64_t n, int64_t m) { return 4 * n + 3 * m; }}};
  const auto& [text, size_of] = sizes[below(5)];
  test.size = text;
  test.size_of = size_of;
  test.is_out = true;
  return test;
}

std::set<std::string> Reported(const DiagnosticEngine& diagnostics) {
  std::set<std::string> ids;
  for (const auto& diagnostic : diagnostics.all()) {
    if (diagnostic->severity == Severity::Error) ids.insert(diagnostic->id);
  }
  return ids;
}

std::set<std::string> Check(const Case& test, void (*pass)(PassContext&, ir::Function&),
                            std::string* text) {
  TestKernel kernel(test.Text());
  PassContext context{*kernel.read.module, kernel.read.diagnostics, kernel.read.sources};
  pass(context, kernel.kernel());
  *text = kernel.Text();
  return Reported(kernel.read.diagnostics);
}

}  // namespace

TEST_CASE("check-disjoint: proofs hold for all small launches, and counterexamples are real") {
  std::mt19937_64 random(1);
  int proven = 0;
  for (int round = 0; round < 40; ++round) {
    Case test = Draw(random);
    std::string text;
    std::set<std::string> ids = Check(test, RunCheckDisjoint, &text);
    CAPTURE(text);
    bool overlaps = Somewhere(test, 9, [](const Truth& t) { return t.overlaps; });
    bool twice = Somewhere(test, 9, [](const Truth& t) { return t.twice; });
    if (ids.empty()) CHECK(!overlaps);
    if (ids.empty()) CHECK(!twice);
    if (ids.contains("E0412"))
      CHECK(Somewhere(test, 14, [](const Truth& t) { return t.overlaps; }));
    if (ids.contains("E0415")) CHECK(Somewhere(test, 14, [](const Truth& t) { return t.twice; }));
    proven += ids.empty() ? 1 : 0;
  }
  CHECK(proven > 0);
}

TEST_CASE("check-outputs: proofs hold for all small launches, and counterexamples are real") {
  std::mt19937_64 random(2);
  int proven = 0;
  for (int round = 0; round < 40; ++round) {
    Case test = Draw(random);
    if (round % 2 == 0) {  // in every second case, all elements may be stored
      test.stores = {{2, 0, 0, 1}, {2, 0, static_cast<int64_t>(random() % 2), 1}};
      test.size = "(2*N)";
      test.size_of = [](int64_t n, int64_t) { return 2 * n; };
    }
    std::string text;
    std::set<std::string> ids = Check(test, RunCheckOutputs, &text);
    CAPTURE(text);
    if (ids.empty())
      CHECK(!Somewhere(test, 9, [](const Truth& t) { return !t.complete && !t.outside; }));
    if (ids.contains("E0417"))
      CHECK(Somewhere(test, 14, [](const Truth& t) { return !t.complete; }));
    proven += ids.empty() ? 1 : 0;
  }
  CHECK(proven > 0);
}

/// Returns whether a launch with these sizes is accepted.
bool MayLaunch(const ir::Function& kernel, int64_t n, int64_t m) {
  auto value = [&](Size size) {
    return *EvaluateChecked(size,
                            [&](Name name) { return std::optional(name.text() == "N" ? n : m); });
  };
  return std::ranges::all_of(ir::RequirementsOf(kernel), [&](const ir::Op* op) {
    return ir::Holds(op->attr<ir::AttrKey::Compare>(), value(op->attr<ir::AttrKey::Left>()),
                     value(op->attr<ir::AttrKey::Right>()));
  });
}

TEST_CASE(
    "check-bounds: unguarded accesses, rejected launches and errors are right in small launches") {
  std::mt19937_64 random(3);
  int proven = 0;
  int left_to_launch = 0;
  int wrong = 0;
  for (int round = 0; round < 60; ++round) {
    Case test = Draw(random);
    test.stores.resize(1);
    TestKernel kernel(test.Text());
    size_t before = ir::RequirementsOf(kernel.kernel()).size();
    PassContext context{*kernel.read.module, kernel.read.diagnostics, kernel.read.sources};
    RunCheckBounds(context);
    std::set<std::string> ids = Reported(kernel.read.diagnostics);
    CAPTURE(kernel.Text());
    bool guarded = kernel.Text().find("bounds = guard") != std::string::npos;
    for (int64_t n = 0; n < 9; ++n) {
      for (int64_t m = test.lo + 1; m < 9; ++m) {
        bool outside = TruthOf(test, n, m).outside;
        CAPTURE(n);
        CAPTURE(m);
        if (!guarded) CHECK(outside == !MayLaunch(kernel.kernel(), n, m));
        if (!ids.empty() && n > 0) CHECK(outside);
      }
    }
    bool asks = ir::RequirementsOf(kernel.kernel()).size() > before;
    proven += !guarded && !asks ? 1 : 0;
    left_to_launch += !guarded && asks ? 1 : 0;
    wrong += ids.empty() ? 0 : 1;
  }
  CHECK(proven > 0);
  CHECK(left_to_launch > 0);
  CHECK(wrong > 0);
}

}  // namespace kdl::passes
