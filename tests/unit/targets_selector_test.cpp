#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ir_text.h"
#include "targets/builtin.h"
#include "targets/cpu/facts.h"

// The blocks of drawn products, whose sizes, constants, types and levels are drawn.

namespace kdl::targets {

namespace {

struct Constant {
  std::string_view name;
  int64_t given = 0;               ///< 0: it is open
  std::vector<int64_t> choices{};  ///< of an open one; empty: anything

  std::string Text() const {
    if (given) return fmt::format("{} = {}", name, given);
    if (choices.empty()) return fmt::format("{} = auto", name);
    return fmt::format("{} in {{{}}} = auto", name, fmt::join(choices, ", "));
  }
  /// The least that it may be.
  int64_t Least() const {
    return given ? given : choices.empty() ? 1 : *std::ranges::min_element(choices);
  }
};

/// What is multiplied and added up.
struct Form {
  std::string_view element;
  std::string_view acc;
  std::string_view unit;  ///< empty: plain multiplications
  int64_t element_bytes;
  int64_t acc_bytes;
  int64_t columns_bytes;  ///< as the model counts an element of a panel
};
constexpr Form kForms[] = {{"f32", "f32", "", 4, 4, 4},
                           {"f64", "f64", "", 8, 8, 4},
                           {"bf16", "f32", "cpu.bf16_pairs", 2, 4, 2},
                           {"i8", "i32", "x86.vpdpbusd", 1, 4, 1}};
constexpr size_t kPlainForms = 2;

struct Product {
  std::string_view level;
  Form form;
  int64_t sizes[3];  ///< 0: the launch knows
  Constant constants[3] = {{"BM"}, {"BN"}, {"BK"}};

  std::string Size(size_t axis) const {
    constexpr std::string_view kNames[] = {"%M", "%N", "%K"};
    return sizes[axis] ? fmt::format("{}", sizes[axis]) : std::string(kNames[axis]);
  }
  std::string Text() const;
};

/// `$m` stands for a size in a type or axis, `$(m)` for its value in an op.
constexpr std::string_view kText =
    R"(kernel @product generics($constants)$dims (%a: tensor<$e,[$m,$k]> in, %b: tensor<$e,[$k,$n]> in, %c: tensor<$acc,[$m,$n]> out) {
  axis i = $m by BM
  axis j = $n by BN
  axis k = $k by BK
  %0 = const 0 : i64
$ends  %z = const $zero : $acc
  spmd (%i: blk<i> in %0 .. $(m), %j: blk<j> in %0 .. $(n)) {deal = static} {
    %start = broadcast %z : tile<$acc; i j>
    %sum = for %k: blk<k> in %0 .. $(k) carry(%t = %start) {
      %x = load %a[%i, %k] {edge = clip} : tile<$e; i k>
      %y = load %b[%k, %j] {edge = clip} : tile<$e; j k>
$widen      %u = contraction $x, $y into %t over k {acc = $acc, order = chain$unit} : tile<$acc; i j>
      yield %u
    } : tile<$acc; i j>
    store %sum to %c[%i, %j] {edge = clip}
    yield
  }
  return
}
)";
constexpr std::string_view kWiden =
    "      %xw = cast %x : tile<$acc; i k>\n      %yw = cast %y : tile<$acc; j k>\n";

std::string Product::Text() const {
  std::string dims;
  std::string ends;
  std::vector<std::pair<std::string, std::string>> words;
  for (size_t axis = 0; axis < 3; ++axis) {
    std::string size = Size(axis);
    std::string name(1, "mnk"[axis]);
    if (sizes[axis])
      ends += fmt::format("  %end{} = const {} : i64\n", axis, size);
    else
      dims += (dims.empty() ? " dims(" : ", ") + size;
    words.emplace_back("$" + name, sizes[axis] ? size : size.substr(1));
    words.emplace_back("$(" + name + ")", sizes[axis] ? fmt::format("%end{}", axis) : size);
  }
  if (!dims.empty()) dims += ")";
  bool widens = form.acc == "i32";
  // Longer words come first: `$ends` is no `$e`.
  std::string text(kText);
  auto put = [&text](std::string_view word, std::string_view by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
      text.replace(at, word.size(), by);
  };
  put("$widen", widens ? kWiden : "");
  put("$constants",
      fmt::format("{}, {}, {}", constants[0].Text(), constants[1].Text(), constants[2].Text()));
  put("$dims", dims);
  put("$ends", ends);
  put("$unit", form.unit.empty() ? "" : fmt::format(", unit = \"{}\"", form.unit));
  put("$zero", widens ? "0" : "0.0");
  put("$acc", form.acc);
  put("$e", form.element);
  put("$x", widens ? "%xw" : "%x");
  put("$y", widens ? "%yw" : "%y");
  for (const auto& [word, by] : words) put(word, by);
  return text;
}

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  Product Draw() {
    constexpr std::string_view kLevels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16",
                                            "armv8-a"};
    Product product{};
    product.level = kLevels[Below(std::size(kLevels))];
    bool has_units = product.level == "x86-64-v4-bf16";
    product.form = kForms[Below(has_units ? std::size(kForms) : kPlainForms)];
    for (int64_t& size : product.sizes) size = Below(4) == 0 ? 0 : Size();
    for (Constant& constant : product.constants) DrawConstant(constant);
    return product;
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  int64_t Size() { return 1 + static_cast<int64_t>(Below(4097)); }

  void DrawConstant(Constant& constant) {
    switch (Below(6)) {
      case 0:
        constant.given = 1 + static_cast<int64_t>(Below(512));
        return;
      case 1:
        for (uint64_t count = 1 + Below(4); count > 0; --count)
          constant.choices.push_back(1 + static_cast<int64_t>(Below(1024)));
        std::ranges::sort(constant.choices);
        constant.choices.erase(std::ranges::unique(constant.choices).begin(),
                               constant.choices.end());
        std::ranges::shuffle(constant.choices, random_);
        return;
      default:
        return;
    }
  }

  std::mt19937_64 random_;
};

/// What the model promises of a product's tiles.
struct Limits {
  int64_t bytes;       ///< of the tiles of a block
  int64_t extents[3];  ///< of blocks where nothing else is said
};

Limits LimitsOf(const Product& product, const cpu::ProcessorFacts& facts) {
  int64_t columns = cpu::kBlockColumns * facts.vector_bits / 32;
  int64_t rows = cpu::BlockRows(facts, cpu::kBlockColumns);
  return {facts.l2_bytes * 3 / 2 + facts.l1_bytes,
          {std::max<int64_t>(24, 256 / rows) * rows, 16 * columns,
           facts.l1_bytes / (columns * product.form.columns_bytes)}};
}

/// In bytes; what an instruction takes as narrow as it is has no wide copy.
int64_t TilesOf(const Product& product, const std::vector<int64_t>& extents) {
  auto [m, n, k] = std::tie(extents[0], extents[1], extents[2]);
  return (m + n) * k * product.form.element_bytes + m * n * product.form.acc_bytes;
}

/// Blocks whose least ones take more than half of the limit may take half of it more than those, or all of it once those take more.
int64_t RoomOf(int64_t least, int64_t limit) {
  return least > limit ? least + limit : std::max(limit, least + limit / 2);
}

/// Checks what was chosen, the open constants' numbers in their order.
void CheckChoice(const Product& product, const Limits& limits, const std::vector<int64_t>& chosen) {
  std::vector<int64_t> extents;
  std::vector<int64_t> least;
  bool grown = false;
  size_t next = 0;
  for (size_t axis = 0; axis < 3; ++axis) {
    const Constant& constant = product.constants[axis];
    extents.push_back(constant.given);
    least.push_back(constant.given ? constant.given : constant.Least());
    if (constant.given) continue;
    REQUIRE(next < chosen.size());
    int64_t extent = extents.back() = chosen[next++];
    grown = grown || extent > constant.Least();
    if (!constant.choices.empty())
      CHECK(std::ranges::count(constant.choices, extent) == 1);
    else
      CHECK((extent >= 1 && extent <= limits.extents[axis]));
  }
  CHECK(next == chosen.size());
  if (grown) CHECK(TilesOf(product, extents) <= RoomOf(TilesOf(product, least), limits.bytes));
}

}  // namespace

TEST_CASE(
    "whatever the sizes of a product, its blocks are allowed ones that fit, and the same each "
    "time") {
  constexpr int kProducts = 10'000;
  constexpr uint64_t kSeed = 19;
  Drawer drawer(kSeed);
  for (int n = 0; n < kProducts; ++n) {
    Product product = drawer.Draw();
    std::string text = product.Text();
    INFO(text);
    Result<std::vector<Target>> targets =
        BuiltinFamilies().ParseTargets(fmt::format("host?isa={}", product.level));
    REQUIRE(targets.ok());
    const Target& target = targets->front();
    const auto* facts = dynamic_cast<const cpu::ProcessorFacts*>(target.facts.get());
    REQUIRE(facts);
    ir::ReadText read(text, facts->units);
    REQUIRE_MESSAGE(read.module, read.Errors());
    const ir::Function& kernel = *read.module->functions()[0];
    std::vector<int64_t> chosen = target.selector->Select(kernel);
    CheckChoice(product, LimitsOf(product, *facts), chosen);
    CHECK(chosen == target.selector->Select(kernel));
  }
}

}  // namespace kdl::targets
