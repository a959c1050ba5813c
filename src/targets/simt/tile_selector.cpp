#include "targets/simt/tile_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/lookup.h"
#include "ir/module.h"
#include "ir/views.h"
#include "support/check.h"
#include "targets/simt/analysis/mma_shapes.h"
#include "targets/simt/analysis/outer_product.h"
#include "targets/simt/analysis/tensor_tile_factors.h"
#include "targets/simt/tiles/side_points.h"

// The model for choosing block sizes. Axes that a contraction reduces get short blocks, because workgroup
// memory contains both operands. Axes that the contraction keeps get square blocks. In other kernels, the
// axis that is contiguous in memory is distributed to the threads, and blocks have a few rows along the other
// axes.
//
// If a kernel's only reduction is a sum of outer products, the result stays in registers. Its block is the
// largest square that the registers allow: 64 KiB of f32, with 8 x 8 elements for each of 256 threads. With a
// matrix instruction, each of 128 threads has 128 elements of the square, and blocks of the reduced axis span
// two instructions. If tensor tiles are copied asynchronously to workgroup memory, each of two groups of 128
// threads has 64 rows. In this case, the number of columns is the maximum for the group's registers: 256, or
// 128 if threads add partial sums. A row of terms has 128 bytes. If the loop does more than multiply, it
// needs registers for its other work, and there are only 128 columns.
//
// In all other kernels, blocks shrink until the tiles that reductions read and produce fit into workgroup
// memory.

namespace kdl::simt {

namespace {

using ir::AttrKey;

/// How a kernel uses the axes whose extent is a given generic parameter.
struct Role {
  bool folded = false;  ///< reduced by a contraction with several kept axes
  bool kept = false;    ///< in the result of such a contraction
  bool along =
      false;  ///< the last index of an access that has at least as many dimensions as others
  bool columns = false;  ///< the last axis of such a contraction's result
  bool summed = false;   ///< reduced in sequential order by something else
  bool sums = false;     ///< contiguous, and kept by such a reduction
  bool dotted = false;   ///< reduced by a product of a matrix and a vector, or its rows
  bool reread = false;   ///< columns of rows that several loops read, one of which reduces them
  bool turned = false;   ///< contiguous in one tensor, and not in another one of the same rank
  int64_t bytes = 0;     ///< the bytes of the largest element, if the kernel has no other axis
};

/// The form of a kernel's only reduction. `Outer` is a sum of outer products, and `Matrix` is the same with a
/// matrix instruction. `TensorTiles` and `Iteration` use `wgmma`: the first in a loop that only fetches and
/// multiplies tensor tiles, the second in any other loop. `None` means any other reduction, or several
/// reductions.
enum class Product : uint8_t { None, Outer, Matrix, Iteration, TensorTiles };

// The block of a reduction that adds rows to each other, each column in order: its 32 columns are a line of memory for
// f32. There are few columns, so that there are many blocks, and many rows, so that all threads load.
constexpr int64_t kSummedColumns = 32;
constexpr int64_t kSummedRows = 128;

// If a kernel writes columns, each row of its block is a line of memory (for f32), which the block writes at once.
// With more rows, more lines would be partly written at a time: with 256 rows and 16 blocks on each of 132
// multiprocessors, these are more than a second-level cache of 50 MB can hold.
constexpr int64_t kTurned = 32;

constexpr int64_t kColumns = 256;  // of blocks that are contiguous in memory

// The columns in a block of rows that can be kept in workgroup memory. Each block has 64 sums, so with shorter blocks these
// would need more of that memory. With longer ones, short rows would be divided among few threads.
constexpr int64_t kRereadColumns = 1024;

// The block of a product of a matrix and a vector. Between blocks, threads wait at barriers, so blocks are long, and each
// element of the vector is used for many rows (tests/gpu/NOTES.md: matvec).
constexpr int64_t kDottedColumns = 512;
constexpr int64_t kDottedRows = 16;

// The number of bytes in a row of terms, if tensor tiles are copied.
constexpr int64_t kRowBytes = 128;

/// Returns the preferred extent of an axis with the given role. `instruction` is the product's matrix
/// instruction, or null.
int64_t Wanted(const SimtFacts& facts, const Role& role, Product product,
               const MmaShape* instruction) {
  bool has_panels = product == Product::TensorTiles || product == Product::Iteration;
  if (has_panels && role.folded) return kRowBytes / Bytes(instruction->instruction->a);
  if (product == Product::TensorTiles && role.columns) return instruction->most_columns();
  if (role.folded) return product == Product::Matrix ? 32 : 16;
  if (role.kept) return product == Product::None ? 32 : 128;
  if (role.sums) return kSummedColumns;
  if (role.summed) return kSummedRows;
  if (role.dotted) return role.along ? kDottedColumns : kDottedRows;
  if (role.reread) return kRereadColumns;
  if (role.turned) return kTurned;
  if (role.bytes > 0 && facts.vector_bytes > 0)
    return std::max(facts.threads * kBytesInFlight / role.bytes, kColumns);
  // With 8 rows of 256 elements, each of 128 threads has four vectors, all of which are in flight at once.
  return role.along ? kColumns : facts.vector_bytes > 0 ? 8 : 4;
}

bool IsFold(const ir::Op* op) {
  return op->kind() == ir::OpKind::Contraction || op->kind() == ir::OpKind::Reduce ||
         op->kind() == ir::OpKind::MultiReduce || op->kind() == ir::OpKind::Scan;
}

/// `streams` tells whether threads read tensors directly. A machine that copies whole blocks to workgroup memory has no
/// use for blocks of few rows.
Role FindRole(const ir::Function& kernel, Name generic, bool streams) {
  Role role;
  size_t most_along =
      0;  // the dimensions of the largest access whose last index is a block of the axis
  size_t most_other = 0;  // the same, if another index is
  bool folds = false;
  bool in_lanes = false;  // whether the axis is reduced in 64-lane order
  std::map<const ir::Value*, std::set<const ir::Value*>>
      read;  // the blocks along which each tensor is read
  auto is_extent = [&](ir::AxisId axis) {
    Size extent = kernel.axis(axis).extent;
    return extent && extent->kind == SizeKind::Symbol && extent->symbol == generic;
  };
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::Contraction || op->kind() == ir::OpKind::Reduce) {
      const ir::AxisList& kept = op->result()->type()->axes;
      bool is_folded = std::ranges::any_of(op->attr<AttrKey::Axes>(), is_extent);
      bool keeps = std::ranges::any_of(kept, is_extent);
      bool has_lanes = op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
      in_lanes |= has_lanes && is_folded && op->kind() == ir::OpKind::Reduce;
      if (op->kind() == ir::OpKind::Contraction && (kept.size() > 1 || !streams)) {
        role.folded |= is_folded;
        role.kept |= keeps;
        role.columns |= !kept.empty() && is_extent(kept.back());
      } else if (streams && op->kind() == ir::OpKind::Contraction && has_lanes) {
        role.dotted |= is_folded || keeps;
      } else if (streams && !has_lanes && !kept.empty()) {
        role.summed |= is_folded;
        role.sums |= keeps;
      }
    }
    folds |= IsFold(op);
    const ir::Attr* access = op->FindAttr(AttrKey::Access);
    if (!access) return;
    const Scalar element = ir::TensorOf(op)->type()->scalar;
    role.bytes = std::max<int64_t>(role.bytes, Bytes(element));
    const std::vector<ir::AccessDim>& dims = std::get<ir::Access>(access->value).dims;
    size_t index = op->kind() == ir::OpKind::Load ? size_t{ir::LoadOp::at_index}
                                                  : size_t{ir::StoreOp::at_index};
    for (size_t d = 0; d < dims.size(); ++d) {
      size_t& most = d + 1 == dims.size() ? most_along : most_other;
      for (const ir::AccessTerm& term : dims[d].terms) {
        const ir::Value* block = op->Segment(index)[term.operand];
        ir::Type type = block->type();
        bool has_axis = type->kind == ir::TypeKind::Block && is_extent(type->axes[0]);
        if (has_axis) most = std::max(most, dims.size());
        if (has_axis && op->kind() == ir::OpKind::Load) read[ir::TensorOf(op)].insert(block);
      }
    }
  });
  // Rows that also have one number each, such as their sum, are rows.
  role.along = most_along > 0 && (most_along >= most_other || !streams);
  role.turned = role.along && streams && most_along == most_other;
  role.reread = role.along && in_lanes && std::ranges::any_of(read, [](const auto& blocks) {
                  return blocks.second.size() > 1;
                });
  role.sums &= role.along;
  role.summed &= !role.along;
  if (kernel.axes.size() > 1 || folds) role.bytes = 0;
  return role;
}

bool Multiplies(const ir::Function& kernel) {
  bool found = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    found |= op->kind() == ir::OpKind::Contraction && op->result()->type()->axes.size() > 1;
  });
  return found;
}

/// Returns how much workgroup memory the tiles of a kernel may take. If it only streams, several workgroups must share
/// a multiprocessor to keep its memory busy: while some wait at a barrier, the others load.
int64_t MostBytes(const SimtFacts& facts, const ir::Function& kernel) {
  constexpr int64_t kWorkgroups = 4;
  if (facts.multiprocessor_bytes == 0 || Multiplies(kernel)) return facts.workgroup_bytes;
  int64_t share = facts.multiprocessor_bytes / kWorkgroups - facts.reserved_bytes;
  return std::min(facts.workgroup_bytes, share);
}

/// Classifies the kernel's only reduction, if that is a sum of outer products. Sets `instruction` to its
/// matrix instruction, or to null.
Product OnlyProduct(const SimtFacts& facts, const ir::Function& kernel,
                    const MmaShape*& instruction) {
  const ir::Op* sum = nullptr;
  int folds = 0;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    folds += IsFold(op) ? 1 : 0;
    if (op->kind() == ir::OpKind::Contraction && OuterAxes(op)) sum = op;
  });
  if (!sum || folds != 1) return Product::None;
  instruction = FindMmaShape(facts, sum);
  if (instruction) {
    if (!instruction->instruction->goes_on) return Product::Matrix;
    return IsTensorTileProduct(sum) ? Product::TensorTiles : Product::Iteration;
  }
  return sum->HasAttr(AttrKey::Instruction) ? Product::None : Product::Outer;
}

/// Returns the largest choice that does not exceed `wanted`, or the smallest choice if all of them do.
/// Returns `wanted` if the generic parameter has no list of choices.
int64_t Chosen(const ir::Generic& generic, int64_t wanted) {
  if (generic.choices.empty()) return wanted;
  int64_t chosen = *std::ranges::min_element(generic.choices);
  for (int64_t choice : generic.choices) {
    if (choice <= wanted) chosen = std::max(chosen, choice);
  }
  return chosen;
}

/// The values of the kernel's generic parameters whose value is `auto`.
using Constants = std::unordered_map<Name, int64_t>;

double TileBytes(const ir::Function& kernel, ir::Type type, const Constants& values) {
  auto bytes = static_cast<double>(Bytes(type->scalar));
  for (ir::AxisId axis : type->axes) {
    Size extent = kernel.axis(axis).extent;
    if (!extent) continue;
    auto found = extent->kind == SizeKind::Symbol ? values.find(extent->symbol) : values.end();
    if (extent->kind == SizeKind::Constant) bytes *= static_cast<double>(extent->value);
    if (found != values.end()) bytes *= static_cast<double>(found->second);
  }
  return bytes;
}

bool IsTile(const ir::Value* value) {
  return value->type()->kind == ir::TypeKind::Tile && !value->type()->axes.empty();
}

/// Returns all tiles of the kernel, even if they are not live at the same time.
std::vector<const ir::Value*> AllTiles(const ir::Function& kernel) {
  std::vector<const ir::Value*> tiles;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    std::ranges::copy_if(op->results(), std::back_inserter(tiles), IsTile);
  });
  return tiles;
}

/// Returns the tiles that reductions read and produce. Other tiles need no memory, because elementwise loops
/// use only one of their elements at a time. The tile to which a contraction adds uses the same memory as the
/// contraction's result. If rows are read again, lanes compute the elements that only a reduction needs.
std::vector<const ir::Value*> FoldedTiles(const ir::Function& kernel, bool rereads) {
  std::unordered_set<const ir::Value*> tiles;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (!IsFold(op)) return;
    bool goes_on = op->kind() == ir::OpKind::Contraction;
    size_t read = goes_on ? size_t{ir::ContractionOp::at_into} : op->operands().size();
    bool has_lanes =
        op->kind() == ir::OpKind::Reduce && op->attr<AttrKey::Order>() == ir::OrderKind::Lanes64;
    if (rereads && has_lanes && op->operand(0)->uses().size() == 1) read = 0;
    std::ranges::copy_if(std::span(op->operands()).first(read), std::inserter(tiles, tiles.end()),
                         IsTile);
    std::ranges::copy_if(op->results(), std::inserter(tiles, tiles.end()), IsTile);
  });
  return {tiles.begin(), tiles.end()};
}

/// Sets `value` to the next smaller choice. If there is no list of choices, halves it. Returns false if there
/// is no smaller value.
bool Shrink(const ir::Generic& generic, int64_t& value) {
  int64_t smaller = value / 2;
  if (!generic.choices.empty()) {
    smaller = 0;
    for (int64_t choice : generic.choices) {
      if (choice < value) smaller = std::max(smaller, choice);
    }
  }
  if (smaller < 1) return false;
  value = smaller;
  return true;
}

std::string_view DescribeRole(const Role& role) {
  if (role.folded) return "reduced by a product";
  if (role.kept) return role.columns ? "columns of a product" : "rows of a product";
  if (role.sums) return "columns whose rows are added";
  if (role.summed) return "rows that are added";
  if (role.dotted)
    return role.along ? "columns of a matrix times a vector" : "rows of a matrix times a vector";
  if (role.reread) return "columns of rows that are read again";
  if (role.turned) return "contiguous in memory in one tensor, but not in another";
  return role.along ? "contiguous in memory" : "rows";
}

std::string_view DescribeProduct(Product product) {
  switch (product) {
    case Product::None:
      return "";
    case Product::Outer:
      return "the result of the only product is in the registers of the threads";
    case Product::Matrix:
    case Product::Iteration:
    case Product::TensorTiles:
      return "the only product uses matrix instructions, with the result in the registers of the "
             "threads";
  }
  KDL_UNREACHABLE("unknown product {}", static_cast<int>(product));
}

class TileSelector final : public passes::TileSelector {
 public:
  explicit TileSelector(const SimtFacts& facts) : facts_(facts) {}

  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::string trace;
    return Decide(kernel, trace);
  }

  std::string Explain(const ir::Function& kernel) const override {
    std::string trace;
    Decide(kernel, trace);
    return trace;
  }

 private:
  std::vector<int64_t> Decide(const ir::Function& kernel, std::string& trace) const {
    const MmaShape* instruction = nullptr;
    Product product = OnlyProduct(facts_, kernel, instruction);
    std::vector<int64_t> extents;
    bool rereads = false;
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      Role role = FindRole(kernel, generic.name, facts_.workgroup_limit == 0);
      role.reread &= facts_.copy_bytes > 0;  // otherwise rows are not kept
      rereads |= role.reread;
      extents.push_back(Chosen(generic, Wanted(facts_, role, product, instruction)));
      trace += fmt::format("  {}: {}, {} at first\n", generic.name.text(), DescribeRole(role),
                           extents.back());
    }
    if (product != Product::None) trace += fmt::format("  {}\n", DescribeProduct(product));
    if (facts_.workgroup_limit > 0) {  // all tiles must be in workgroup memory
      MakeFit(kernel, AllTiles(kernel), facts_.workgroup_limit, extents, trace);
    } else if (product == Product::None) {
      // Tiles that do not fit into workgroup memory are placed in global memory.
      std::vector<int64_t> first = extents;
      bool fits =
          MakeFit(kernel, FoldedTiles(kernel, rereads), MostBytes(facts_, kernel), extents, trace);
      // If a product's tiles do not fit with any choice, the first choice is used, because it reads the least
      // from global memory.
      if (!fits && Multiplies(kernel)) {
        extents = first;
        trace += "  none fit; the first ones read the least from global memory\n";
      }
    }
    return extents;
  }

  /// Repeatedly shrinks the largest extent that can shrink, until the tiles fit. Returns false if no extent
  /// can shrink any more.
  static bool MakeFit(const ir::Function& kernel, const std::vector<const ir::Value*>& tiles,
                      int64_t most, std::vector<int64_t>& extents, std::string& trace) {
    Constants values;
    std::vector<const ir::Generic*> chosen;
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      values[generic.name] = extents[chosen.size()];
      chosen.push_back(&generic);
    }
    auto bytes = [&] {
      double sum = 0;
      for (const ir::Value* tile : tiles) sum += TileBytes(kernel, tile->type(), values);
      return sum;
    };
    trace += fmt::format("  workgroup memory may take {} KiB\n", most >> 10);
    auto note = [&](bool fits) {
      std::string tiles;
      for (size_t i = 0; i < extents.size(); ++i)
        tiles += fmt::format(" {}={}", chosen[i]->name.text(), extents[i]);
      trace += fmt::format("  {:>8.0f} KiB{}{}\n", bytes() / 1024, tiles, fits ? "" : ": too much");
    };
    std::vector<size_t> order(extents.size());
    std::iota(order.begin(), order.end(), size_t{0});
    while (bytes() > static_cast<double>(most)) {
      note(false);
      std::ranges::sort(order, std::ranges::less(),
                        [&](size_t i) { return std::pair(-extents[i], i); });
      auto shrunk =
          std::ranges::find_if(order, [&](size_t i) { return Shrink(*chosen[i], extents[i]); });
      if (shrunk == order.end()) return false;
      values[chosen[*shrunk]->name] = extents[*shrunk];
    }
    note(true);
    return true;
  }

  SimtFacts facts_;
};

}  // namespace

std::unique_ptr<const passes::TileSelector> MakeTileSelector(const SimtFacts& facts) {
  return std::make_unique<TileSelector>(facts);
}

}  // namespace kdl::simt
