#include "targets/cpu/tile_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/lookup.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"
#include "ir/type.h"
#include "passes/analysis/index_conditions.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"
#include "targets/cpu/analysis/row_fold.h"
#include "targets/cpu/facts.h"

// Tile extents are chosen as follows. A kernel's tiles should fit into a cache: L1 if the kernel only
// streams, L2 if it contains a contraction, because a contraction reads its operands several times. Tiles of
// consecutive loops are not needed at the same time. Extents grow in turn, each to its next step, until they
// reach the limit for their role or fill the cache. Extents along contiguous memory grow first, because short
// runs waste cache lines. The limits in a contraction:
//   reduced axes   stop where a panel of register-block columns fills L1, so that accumulators are rarely
//                  loaded and stored. If elements of the rows evict the panel, L2 delivers it as fast as it
//                  is used. Factors that an instruction accepts in a narrow type are stored in that type.
//                  For f32, 256 terms are enough.
//   columns        (kept, contiguous) and rows (kept) stop where their operands use their share of L2. Rows
//                  form whole register blocks.
// If rows become columns, as in a transposition, extents along contiguous reads grow far, so that the
// processor prefetches along them. Extents along contiguous stores grow to a few cache lines. The block stays
// in L2.
//
// The smallest blocks of a product may already need more than half of the cache, for example if they read a
// whole factor. In that case, blocks may occupy half a cache more than the smallest blocks. If even the
// smallest blocks do not fit into the cache, blocks may occupy a whole cache more. Since each block reads the
// whole factor, blocks of one row would be the worst choice.
//
// A range over a whole dimension, such as `range c in C max 8192`, usually has far fewer elements than its
// maximum. Unless the kernel contains a contraction, such a range counts as a dimension of unknown size. Where the dimension is larger at launch, the
// pass distribute-blocks shortens the blocks again (Walk::row_tiles).
//
// All numbers are computed from the kernel, and none is measured, so a kernel gets the same tiles in every
// run.

namespace kdl::cpu {

namespace {

constexpr int64_t kFloatBytes = 4;

/// How a kernel uses the axes whose extent is a certain generic parameter.
struct Role {
  /// The size of a factor's elements, if a contraction reduces the axes.
  int64_t factor_bytes = kFloatBytes;
  bool contracted = false;     ///< whether a contraction reduces the axes
  bool in_blocks = false;      ///< whether register blocks reduce the axes
  bool kept = false;           ///< whether the result of a contraction has the axes
  bool contiguous = false;     ///< whether the axes are the last index of some access
  bool strided = false;        ///< whether the axes are an earlier index of some access
  bool read_along = false;     ///< whether the axes are the last of several indices of a load
  bool written_along = false;  ///< whether the axes are the last index of a store

  /// Whether rows become columns: elements that are read contiguously are stored far apart.
  bool transposed() const { return read_along && !written_along && strided; }

  /// Whether long runs save time, because every access along the axis is contiguous in memory.
  bool runs() const { return contiguous && !strided; }
};

/// How an extent grows. The first step reaches at least `first`. The limit is `early` in the first round of
/// the search, and `late` in later rounds.
struct Steps {
  int64_t first;
  int64_t early;
  int64_t late;
  int64_t between = 0;  ///< an extent that no step skips
};

/// Returns a description of the role, for the explanation of the choice.
std::string_view RoleText(const Role& role) {
  if (role.contracted)
    return role.kept ? "reduced by one product, kept by another" : "reduced by a product";
  if (role.kept) return role.runs() ? "columns of a product" : "rows of a product";
  if (role.transposed()) return "contiguous in reads, far apart in stores";
  return role.runs() ? "contiguous in memory" : "rows";
}

struct Choice {
  const ir::Generic* generic;
  Role role;
  int64_t extent = 1;
  Steps steps = {1, 1, 1};
};

constexpr int64_t kUnknownExtent = 256;  // assumed for sizes that are known only at launch
// A run of this many contiguous elements fills whole cache lines.
constexpr int64_t kRun = 64;
// If a row has this many elements, the fixed cost of the row is comparatively small.
constexpr int64_t kLongRun = 2048;
// In a transposition, the number of elements that are read contiguously. Each of them is written to a
// different row, so cache lines of as many rows are written.
constexpr int64_t kTransposedRun = 1024;
// If a column has this many bytes of terms, accumulators are rarely loaded and stored.
constexpr int64_t kManyTermBytes = 1024;
// If a panel is used for this many rows, the cost of packing it is small.
constexpr int64_t kManyRows = 256;

/// Returns the steps by which an extent grows. If `chained` is true, one product uses the result of another
/// product, so all rows use what each iteration computes.
Steps GrowthSteps(const Role& role, const ProcessorFacts& facts, bool chained) {
  int64_t columns = kBlockColumns * facts.vector_bits / 8 / kFloatBytes;
  int64_t of_column = facts.l1_bytes / columns;
  if (role.in_blocks) of_column = std::min(of_column, kManyTermBytes);
  int64_t folded = of_column / role.factor_bytes;
  int64_t rows = BlockRows(facts, kBlockColumns);
  if (role.contracted) return {1, kRun, role.kept ? kRun : folded};
  if (role.kept && role.runs()) return {1, kRun, 16 * columns};
  int64_t some_rows = 24 * rows;
  int64_t many_rows = std::max(some_rows, (kManyRows + rows - 1) / rows * rows);
  if (role.kept) return {rows, 4 * rows, chained ? some_rows : many_rows, some_rows};
  if (role.transposed()) return {1, kRun, kTransposedRun};
  return role.runs() ? Steps{1, kLongRun, 2 * kLongRun} : Steps{1, kRun, kRun};
}

/// Returns the name of the generic parameter that is the axis's extent, or an empty name if there is none.
Name ExtentGeneric(const ir::Function& kernel, AxisId axis) {
  Size extent = kernel.axis(axis).extent;
  return extent && extent->kind == SizeKind::Symbol ? extent->symbol : Name();
}

class Selection {
 public:
  Selection(const ir::Function& kernel, const ProcessorFacts& facts)
      : kernel_(kernel), facts_(facts) {
    // The conditions can only be found if no calls are left. Calls that are left are not computed at each point.
    if (ir::OpsOfKind(kernel, ir::OpKind::Call).empty()) conditions_.emplace(kernel);
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      int64_t least = generic.choices.empty()
                          ? 1
                          : *std::min_element(generic.choices.begin(), generic.choices.end());
      choices_.push_back({&generic, {}, least, {1, 1, 1}});
    }
    FindRowFolds();
    ir::Walk(kernel.body, [this](const ir::Op* op) { Study(op); });
    ir::Walk(kernel.body, [this](const ir::Op* op) {
      if (!contracts_ && IsWholeDimension(op)) whole_.insert(op->result()->type()->axes[0]);
    });
    CollectTiles(kernel.body, {});
    transposes_ = std::any_of(choices_.begin(), choices_.end(),
                              [](const Choice& choice) { return choice.role.transposed(); });
    budget_ = static_cast<double>(contracts_    ? facts.l2_bytes * 3 / 2 + facts.l1_bytes
                                  : transposes_ ? facts.l2_bytes / 4
                                                : StreamedTileBudget(facts));
    for (Choice& choice : choices_) choice.steps = GrowthSteps(choice.role, facts, IsChained());
    least_ = MostBytes();
    room_ = RoomOfBlocks();
  }

  /// Describes the decisions made before extents grew: how the kernel uses its generic parameters, and how
  /// much memory tiles may need.
  std::string Roles() const {
    std::string text;
    for (const Choice& choice : choices_)
      text += fmt::format("  {}: {}, up to {}\n", choice.generic->name.text(),
                          RoleText(choice.role), choice.steps.late);
    std::string_view room = contracts_ ? "one and a half second-level caches and the first-level "
                                         "cache: a product reuses its factors"
                            : transposes_ ? "a quarter of the second-level cache: a transposition"
                                          : "one and a half first-level caches: tiles are streamed";
    text += fmt::format("  tiles may use {:.0f} KiB, {}\n", budget_ / 1024, room);
    if (room_ > budget_)
      text += fmt::format("  the smallest blocks need {:.0f} KiB: others may use {:.0f} KiB\n",
                          least_ / 1024, room_ / 1024);
    return text;
  }

  /// Returns text with one line for each attempt to enlarge an extent, in the order of the attempts.
  const std::string& steps_text() const { return trace_; }

  std::vector<int64_t> GrowExtents() {
    auto runs = [](const Choice& choice) { return choice.role.runs(); };
    GrowStepwise(runs, &Steps::early);
    counts_recomputed_ = false;
    GrowStepwise([](const Choice&) { return true; }, &Steps::early);
    GrowStepwise([](const Choice&) { return true; }, &Steps::late);
    std::vector<int64_t> extents;
    extents.reserve(choices_.size());
    for (const Choice& choice : choices_) extents.push_back(choice.extent);
    return extents;
  }

 private:
  /// Returns the number of bytes that blocks may occupy. Without a contraction, no data is read twice, so
  /// blocks with more rows would not save time.
  double RoomOfBlocks() const {
    if (!contracts_) return budget_;
    return least_ > budget_ ? least_ + budget_ : std::max(budget_, least_ + budget_ / 2);
  }

  /// Whether one product reduces an axis that another product keeps.
  bool IsChained() const {
    return std::ranges::any_of(summed_, [&](AxisId axis) { return kept_.contains(axis); });
  }

  Choice* FindChoice(Name name) {
    auto found = std::find_if(choices_.begin(), choices_.end(),
                              [&](const Choice& c) { return c.generic->name == name; });
    return found == choices_.end() ? nullptr : &*found;
  }

  void Mark(AxisId axis, bool Role::* flag) {
    if (Choice* choice = FindChoice(ExtentGeneric(kernel_, axis))) choice->role.*flag = true;
  }

  /// Returns the size of an element of the contraction's factors, as they are stored for the contraction.
  int64_t FactorBytes(const ir::Op* contraction) const {
    if (!contraction->HasAttr(ir::AttrKey::Instruction)) return kFloatBytes;
    Name name = contraction->attr<ir::AttrKey::Instruction>();
    auto instruction = std::ranges::find(facts_.native, name.text(), &ir::MatrixInstruction::name);
    return instruction == facts_.native.end() ? kFloatBytes : Bytes((*instruction)->a);
  }

  /// Whether instructions accept the tile's elements in the type that they had before a cast, so that the
  /// result of the cast needs no tile.
  bool IsNarrowed(const ir::Value* tile) const {
    if (tile->uses().empty()) return false;
    return std::ranges::all_of(tile->uses(), [&](const ir::Use& use) {
      return use.user->kind() == ir::OpKind::Contraction &&
             ir::NarrowFactor(use.user->operand(use.operand)) != tile &&
             FactorBytes(use.user) < Bytes(tile->type()->scalar);
    });
  }

  /// Whether the tile is a cast that only reductions in 64-lane order use. The cast is fused with them, so
  /// the tile needs no memory.
  static bool IsTaken(const ir::Value* tile) {
    const ir::Op* def = tile->def();
    if (!def || def->kind() != ir::OpKind::Cast || tile->uses().empty()) return false;
    return std::ranges::all_of(tile->uses(), [&](const ir::Use& use) {
      return use.user->parent_region() == def->parent_region() &&
             use.user->HasAttr(ir::AttrKey::Order) &&
             use.user->attr<ir::AttrKey::Order>() == ir::OrderKind::Lanes64;
    });
  }

  /// Whether loops recompute the tile at each point, so that it needs no memory: it is a condition on indices.
  bool IsRecomputed(const ir::Value* tile) const {
    return !contracts_ && conditions_ && conditions_->OpOf(tile) != nullptr;
  }

  /// Finds reductions that read their terms row by row and do not copy the rows. At this point, extents that
  /// can grow are still minimal, but a fixed extent may already make a row of accumulators too long.
  void FindRowFolds() {
    KernelShape kernel{kernel_, facts_, AxisOrder(kernel_)};
    ir::Walk(kernel_.body, [&](const ir::Op* op) {
      std::optional<RowFold> found = RowFoldOf(op, kernel);
      if (!found) return;
      row_folds_.insert(op);
      if (StaysInCache(op)) cached_folds_.push_back(op);
      for (const ir::Op* maker : found->makers) passing_.insert(maker->result());
    });
  }

  /// The types of the tiles in and around an innermost loop.
  struct Tiles {
    std::set<ir::Type> in_memory;
    std::set<ir::Type> recomputed;
  };

  /// Adds the tiles that are made directly in a region, not inside its loops, and collects these loops.
  void AddTiles(const ir::Region* region, Tiles& tiles, std::vector<const ir::Op*>& loops) const {
    for (const ir::Op* op : *region) {
      for (const ir::Value* result : op->results()) {
        bool has_memory = ir::IsTile(result->type()) && !ir::IsScalar(result->type()) &&
                          !IsNarrowed(result) && !IsTaken(result) && !passing_.contains(result);
        if (!has_memory) continue;
        (IsRecomputed(result) ? tiles.recomputed : tiles.in_memory).insert(result->type());
      }
      if (op->kind() == ir::OpKind::For || op->kind() == ir::OpKind::Spmd) {
        loops.push_back(op);
      } else {
        for (const ir::Region* nested : op->regions()) AddTiles(nested, tiles, loops);
      }
    }
  }

  void CollectTiles(const ir::Region* region, Tiles tiles) {
    std::vector<const ir::Op*> loops;
    AddTiles(region, tiles, loops);
    for (const ir::Op* loop : loops) CollectTiles(loop->region(), tiles);
    if (loops.empty()) scopes_.push_back(std::move(tiles));
  }

  void Study(const ir::Op* op) {
    if (op->kind() == ir::OpKind::Contraction &&
        op->attr<ir::AttrKey::Order>() != ir::OrderKind::Lanes64) {
      contracts_ = true;
      for (AxisId axis : op->attr<ir::AttrKey::Axes>()) {
        Mark(axis, &Role::contracted);
        summed_.insert(axis);
        if (Choice* choice = FindChoice(ExtentGeneric(kernel_, axis)))
          choice->role.factor_bytes = FactorBytes(op);
        if (!row_folds_.contains(op)) Mark(axis, &Role::in_blocks);
      }
      if (!row_folds_.contains(op)) {
        for (AxisId axis : op->result()->type()->axes) {
          Mark(axis, &Role::kept);
          kept_.insert(axis);
        }
      }
    }
    if (!op->HasAttr(ir::AttrKey::Access)) return;
    const ir::Access access = op->attr<ir::AttrKey::Access>();
    size_t index = op->kind() == ir::OpKind::Load ? 1 : 2;  // the operand segment of the indices
    for (const ir::AccessDim& dim : access.dims) {
      for (const ir::AccessTerm& term : dim.terms) {
        ir::Type type = op->Segment(index)[term.operand]->type();
        if (type->kind != ir::TypeKind::Block) continue;
        bool last = &dim == &access.dims.back();
        Mark(type->axes[0], last ? &Role::contiguous : &Role::strided);
        if (!last) continue;
        if (index == 2) Mark(type->axes[0], &Role::written_along);
        if (index == 1 && access.dims.size() > 1) Mark(type->axes[0], &Role::read_along);
      }
    }
  }

  int64_t Extent(AxisId axis) {
    Size extent = kernel_.axis(axis).extent;
    if (!extent) return kUnknownExtent;
    auto symbol = [this](Name name) -> std::optional<int64_t> {
      if (const Choice* choice = FindChoice(name)) return choice->extent;
      for (const ir::Generic& generic : kernel_.generics) {
        if (generic.name == name && !generic.values.empty()) return generic.values[0];
      }
      return kUnknownExtent;
    };
    int64_t most = whole_.contains(axis) ? kUnknownExtent : 1 << 20;
    return std::clamp<int64_t>(Evaluate(extent, symbol).value_or(kUnknownExtent), 1, most);
  }

  double TileBytes(ir::Type tile) {
    double bytes = Bytes(tile->scalar);
    for (AxisId axis : tile->axes) bytes *= static_cast<double>(Extent(axis));
    return bytes;
  }

  /// Whether stream-row-reductions will handle the reduction.
  bool StaysInCache(const ir::Op* fold) {
    return TileBytes(fold->result()->type()) <= static_cast<double>(MostAccumulatorBytes(facts_));
  }

  /// Returns the size of the tiles in and around an innermost loop, in bytes, for the loop that needs the
  /// most.
  double MostBytes() {
    double most = 0;
    for (const Tiles& tiles : scopes_) {
      double bytes = 0;
      for (ir::Type tile : tiles.in_memory) bytes += TileBytes(tile);
      for (ir::Type tile : tiles.recomputed) {
        if (counts_recomputed_ && !tiles.in_memory.contains(tile)) bytes += TileBytes(tile);
      }
      most = std::max(most, bytes);
    }
    return most;
  }

  bool Fits() {
    bool by_rows = std::ranges::all_of(cached_folds_,
                                       [this](const ir::Op* fold) { return StaysInCache(fold); });
    return by_rows && MostBytes() <= room_;
  }

  /// Records the current extents and whether the tiles fit.
  void Note(bool fits) {
    std::string extents;
    for (const Choice& choice : choices_)
      extents += fmt::format(" {}={}", choice.generic->name.text(), choice.extent);
    std::string line =
        fmt::format("  {:>8.0f} KiB{}{}\n", MostBytes() / 1024, extents, fits ? "" : ": too much");
    if (trace_.find(line) == std::string::npos) trace_ += line;
  }

  /// Returns the next larger extent up to `cap`, or the current one if there is none.
  static int64_t Next(const Choice& choice, int64_t cap) {
    if (choice.generic->choices.empty()) {
      int64_t next = std::max(choice.extent * 2, choice.steps.first);
      int64_t between = choice.steps.between;
      if (choice.extent < between) next = std::min(next, between);
      return std::max(std::min(next, cap), choice.extent);
    }
    int64_t next = choice.extent;
    for (int64_t candidate : choice.generic->choices) {
      if (candidate > choice.extent && candidate <= cap &&
          (next == choice.extent || candidate < next))
        next = candidate;
    }
    return next;
  }

  /// Lets the extent grow to its next step, up to `cap`. Returns whether it has grown.
  bool Grow(Choice& choice, int64_t cap) {
    int64_t before = choice.extent;
    choice.extent = Next(choice, cap);
    if (choice.extent == before) return false;
    bool fits = Fits();
    Note(fits);
    if (!fits) choice.extent = before;
    return fits;
  }

  template <class Wanted>
  void GrowStepwise(Wanted&& wanted, int64_t Steps::* cap) {
    for (bool grew = true; grew;) {
      grew = false;
      for (Choice& choice : choices_) {
        if (wanted(choice) && Grow(choice, choice.steps.*cap)) grew = true;
      }
    }
  }

  const ir::Function& kernel_;
  const ProcessorFacts& facts_;
  std::optional<passes::IndexConditions> conditions_;
  std::vector<Choice> choices_;
  std::vector<Tiles> scopes_;  ///< for each innermost loop, the tiles in and around it
  /// Whether tiles count that need no memory. They do for the length of rows: in short launches, more rows in a block
  /// save more time than longer ones (tests/bench/NOTES.md, "Blocks with conditions on indices").
  bool counts_recomputed_ = true;
  std::set<AxisId> summed_;  ///< axes that products reduce
  std::set<AxisId> kept_;
  std::set<AxisId> whole_;  ///< axes that cover a dimension whose size is known at launch
  std::set<const ir::Op*> row_folds_;
  /// The reductions in `row_folds_` whose accumulators may stay in the L1 cache.
  std::vector<const ir::Op*> cached_folds_;
  std::set<const ir::Value*> passing_;  ///< tiles whose rows are made one by one
  bool contracts_ = false;
  bool transposes_ = false;
  double budget_ = 0;  ///< the number of bytes of tiles that fit into the cache
  double least_ = 0;   ///< the number of bytes that the smallest blocks need
  double room_ = 0;    ///< the number of bytes that blocks may occupy
  std::string trace_;
};

class CacheTileSelector final : public passes::TileSelector {
 public:
  explicit CacheTileSelector(const ProcessorFacts& facts) : facts_(facts) {}

  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    return Selection(kernel, facts_).GrowExtents();
  }

  std::string Explain(const ir::Function& kernel) const override {
    Selection selection(kernel, facts_);
    std::string roles = selection.Roles();
    selection.GrowExtents();
    return roles + selection.steps_text();
  }

 private:
  ProcessorFacts facts_;
};

}  // namespace

int64_t StreamedTileBudget(const ProcessorFacts& facts) { return facts.l1_bytes * 3 / 2; }

int64_t LongestRunBytes(bool has_rows) {
  return (has_rows ? kLongRun : 2 * kLongRun) * kFloatBytes;
}

bool IsWholeDimension(const ir::Op* op) {
  return op->kind() == ir::OpKind::MakeBlock && !ir::ConstantOf(op->operand(1)) &&
         ir::ConstantOf(op->operand(0)) == 0;
}

std::unique_ptr<const passes::TileSelector> MakeTileSelector(const ProcessorFacts& facts) {
  return std::make_unique<CacheTileSelector>(facts);
}

}  // namespace kdl::cpu
