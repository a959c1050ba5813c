#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ir_text.h"
#include "targets/builtin.h"
#include "targets/cpu/facts.h"

// Tests the block sizes chosen for random products with random sizes, constants, types and levels.

namespace kdl::targets {

namespace {

struct Constant {
  std::string_view name;
  int64_t given = 0;               ///< 0 if the compiler chooses the value
  std::vector<int64_t> choices{};  ///< values that the compiler may choose; empty: any

  std::string Text() const {
    if (given) return fmt::format("{} = {}", name, given);
    if (choices.empty()) return fmt::format("{} = auto", name);
    return fmt::format("{} in {{{}}} = auto", name, fmt::join(choices, ", "));
  }
  /// Returns the smallest value that the constant may have.
  int64_t Least() const {
    return given ? given : choices.empty() ? 1 : *std::ranges::min_element(choices);
  }
};

/// The types of a product, and the sizes of its elements in memory.
struct Form {
  std::string_view a;
  std::string_view b;
  std::string_view acc;
  std::string_view instruction;  ///< empty: plain multiplications
  bool widens;                   ///< factors are converted to the accumulator's type
  int64_t a_bytes;               ///< size of an element of a, plus that of its converted copy
  int64_t b_bytes;
  int64_t acc_bytes;
  int64_t columns_bytes;  ///< size of an element of a panel in the selector's model
};

/// Forms that exist on every level. Factors that are converted occupy memory in both types.
constexpr Form kPlainForms[] = {{"f32", "f32", "f32", "", false, 4, 4, 4, 4},
                                {"f64", "f64", "f64", "", false, 8, 8, 8, 4},
                                {"f16", "f16", "f32", "", true, 6, 6, 4, 4},
                                {"u8", "i8", "i32", "", true, 5, 5, 4, 4}};

/// Returns the form for an instruction. Factors that the instruction accepts in their narrow type have no
/// wide copy.
Form FormOf(const cpu::ProcessorFacts& facts, const ir::MatrixInstruction& instruction) {
  auto bytes = [](Scalar scalar) { return static_cast<int64_t>(Bytes(scalar)); };
  return {Spelling(instruction.a),
          Spelling(instruction.b),
          Spelling(instruction.acc),
          instruction.name,
          instruction.acc != Scalar::F32,
          bytes(instruction.a),
          bytes(instruction.b),
          bytes(instruction.acc),
          cpu::IsNative(facts, &instruction) ? bytes(instruction.a) : 4};
}

struct Product {
  std::string level;
  Form form;
  int64_t sizes[3];  ///< 0: only known at launch
  Constant constants[3] = {{"BM"}, {"BN"}, {"BK"}};

  std::string Size(size_t axis) const {
    constexpr std::string_view kNames[] = {"%M", "%N", "%K"};
    return sizes[axis] ? fmt::format("{}", sizes[axis]) : std::string(kNames[axis]);
  }
  std::string Text() const;
};

/// `$m` is replaced by a size in a type or axis, `$(m)` by its value in an op.
constexpr std::string_view kText =
    R"(kernel @product generics($constants)$dims (%a: tensor<$ea,[$m,$k]> in, %b: tensor<$eb,[$k,$n]> in, %c: tensor<$acc,[$m,$n]> out) {
  axis i = $m by BM
  axis j = $n by BN
  axis k = $k by BK
  %0 = const 0 : i64
$ends  %z = const $zero : $acc
  spmd (%i: block<i> in %0 .. $(m), %j: block<j> in %0 .. $(n)) {distribute = static} {
    %start = broadcast %z : tile<$acc; i j>
    %sum = for %k: block<k> in %0 .. $(k) carry(%t = %start) {
      %x = load %a[%i, %k] {bounds = clip} : tile<$ea; i k>
      %y = load %b[%k, %j] {bounds = clip} : tile<$eb; j k>
$widen      %u = contraction $x, $y into %t over k {acc = $acc, order = sequential$unit} : tile<$acc; i j>
      yield %u
    } : tile<$acc; i j>
    store %sum to %c[%i, %j] {bounds = clip}
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
  // Longer words come first, so that `$e…` does not match in `$ends`.
  std::string text(kText);
  auto put = [&text](std::string_view word, std::string_view by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
      text.replace(at, word.size(), by);
  };
  put("$widen", form.widens ? kWiden : "");
  put("$constants",
      fmt::format("{}, {}, {}", constants[0].Text(), constants[1].Text(), constants[2].Text()));
  put("$dims", dims);
  put("$ends", ends);
  put("$unit",
      form.instruction.empty() ? "" : fmt::format(", instruction = \"{}\"", form.instruction));
  put("$zero", form.acc.starts_with("f") ? "0.0" : "0");
  put("$acc", form.acc);
  put("$ea", form.a);
  put("$eb", form.b);
  put("$x", form.widens ? "%xw" : "%x");
  put("$y", form.widens ? "%yw" : "%y");
  for (const auto& [word, by] : words) put(word, by);
  return text;
}

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  /// Returns a random product for the level, with one of its instructions or none.
  Product Draw(const Target& target, const cpu::ProcessorFacts& facts) {
    Product product{};
    product.level = target.facts->level;
    uint64_t form = Below(std::size(kPlainForms) + facts.instructions.size());
    bool is_plain = form < std::size(kPlainForms);
    product.form = is_plain ? kPlainForms[form]
                            : FormOf(facts, *facts.instructions[form - std::size(kPlainForms)]);
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

/// The model's limits for the tiles of a product.
struct Limits {
  int64_t bytes;       ///< total size of a block's tiles
  int64_t extents[3];  ///< maximum extents of blocks whose size the compiler chooses
};

Limits LimitsOf(const Product& product, const cpu::ProcessorFacts& facts) {
  int64_t columns = cpu::kBlockColumns * facts.vector_bits / 32;
  int64_t rows = cpu::BlockRows(facts, cpu::kBlockColumns);
  return {facts.l2_bytes * 3 / 2 + facts.l1_bytes,
          {std::max<int64_t>(24, (256 + rows - 1) / rows) * rows, 16 * columns,
           std::min<int64_t>(facts.l1_bytes / columns, 1024) / product.form.columns_bytes}};
}

/// Returns the total size of a block's tiles in bytes.
int64_t TilesOf(const Product& product, const std::vector<int64_t>& extents) {
  auto [m, n, k] = std::tie(extents[0], extents[1], extents[2]);
  const Form& form = product.form;
  return m * k * form.a_bytes + n * k * form.b_bytes + m * n * form.acc_bytes;
}

/// Returns the bytes that tiles may occupy, if the smallest tiles occupy `least`. If the smallest tiles fit
/// into the limit, the result is at least `least` plus half of the limit. Otherwise it is `least` plus the
/// limit.
int64_t RoomOf(int64_t least, int64_t limit) {
  return least > limit ? least + limit : std::max(limit, least + limit / 2);
}

/// Checks the values that the selector chose, in the order of the constants.
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

TEST_CASE("blocks of random products are allowed, fit on each level, and are the same each time") {
  constexpr size_t kProducts = 10'000;
  constexpr uint64_t kSeed = 19;
  constexpr std::string_view kLevels[] = {
#define KDL_ISA(name, ...) name,
#include "targets/cpu/isa.def"
  };
  std::vector<Target> targets;
  for (std::string_view level : kLevels) {
    Result<std::vector<Target>> parsed =
        BuiltinFamilies().ParseTargets(fmt::format("host?isa={}", level));
    REQUIRE(parsed.ok());
    targets.push_back(parsed->front());
  }
  Drawer drawer(kSeed);
  std::set<std::string> drawn;
  for (size_t n = 0; n < kProducts; ++n) {
    const Target& target = targets[n % targets.size()];
    const auto* facts = dynamic_cast<const cpu::ProcessorFacts*>(target.facts.get());
    REQUIRE(facts);
    Product product = drawer.Draw(target, *facts);
    drawn.insert(
        fmt::format("{} {} {}", product.level, product.form.acc, product.form.instruction));
    std::string text = product.Text();
    INFO(product.level);
    INFO(text);
    ir::ReadText read(text, facts->instructions);
    REQUIRE_MESSAGE(read.module, read.Errors());
    const ir::Function& kernel = *read.module->functions()[0];
    std::vector<int64_t> chosen = target.selector->Select(kernel);
    CheckChoice(product, LimitsOf(product, *facts), chosen);
    CHECK(chosen == target.selector->Select(kernel));
  }
  // Each level has plain products with three kinds of sums, and one form for each of its instructions.
  size_t forms = 0;
  for (const Target& target : targets)
    forms += 3 + dynamic_cast<const cpu::ProcessorFacts&>(*target.facts).instructions.size();
  CHECK(drawn.size() == forms);
}

}  // namespace kdl::targets
