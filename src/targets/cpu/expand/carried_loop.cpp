#include "targets/cpu/expand/carried_loop.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ir/op_info.h"
#include "ir/op_kind.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"
#include "targets/cpu/expand/elementwise_body.h"
#include "targets/cpu/expand/layouts.h"

// Expands loops that update tiles, such as filters with feedback, whose states have one element for each channel. In
// scratch memory, each iteration would wait for the stores of the one before it. So if all channels fit into one or two
// vectors without a mask, or four if there are many registers, the loop carries these:
//
//   loop %n in 0 .. %N {                                    if %c.size == 8 {
//     %s.1 = load_tile %s                                     %first = buffer_load %s : vec<f32 x 8>
//     %s.2 = elementwise (%p in %c) { … }            ->       %last = loop %n in 0 .. %N carry(%v = %first) { … }
//     store_tile %s.2 to %s                                   buffer_store %last to %s
//   }                                                       } else { … }
//
// With more vectors, others run while one of them waits.

namespace kdl::cpu {

namespace {

/// A loop around an elementwise loop over one axis that reads and stores tiles.
struct CarriedLoop {
  const Op* loop = nullptr;
  const Op* elementwise = nullptr;
  /// For each result of the elementwise loop, the elements that it replaces.
  std::vector<std::vector<const Op*>> elements;
};

/// Whether all accesses of tensors that the body stores have the index along the last axis as the index of the same
/// dimension. Then no point reads or writes what the same iteration, or another one, writes at another point.
bool ArePointsApart(const Op* elementwise) {
  const Value* point = elementwise->region()->params().back();
  auto dimension_of = [&](const Op* access) -> std::optional<size_t> {
    ir::Access map = access->attr<AttrKey::Access>();
    for (size_t d = 0; d < map.dims.size(); ++d) {
      const std::vector<ir::AccessTerm>& terms = map.dims[d].terms;
      if (terms.size() == 1 && IndexOf(access)[terms[0].operand] == point &&
          IsConstant(terms[0].coefficient, 1) && IsConstant(map.dims[d].offset, 0))
        return d;
    }
    return std::nullopt;
  };
  for (const Op* store : *elementwise->region()) {
    if (store->kind() != OpKind::Store) continue;
    std::optional<size_t> dimension = dimension_of(store);
    if (!dimension) return false;
    for (const Op* access : *elementwise->region()) {
      if (!access->HasAttr(AttrKey::Access)) continue;
      if (ir::MemoryOf(TensorOf(access)) != ir::MemoryOf(TensorOf(store))) continue;
      if (TensorOf(access) != TensorOf(store) || dimension_of(access) != dimension) return false;
    }
  }
  return true;
}

/// Whether the body only loads, computes and stores, and so shortly that further copies of it are worthwhile.
bool IsShortBody(const Op* elementwise) {
  constexpr int64_t kMostOps = 32;
  int64_t ops = 0;
  for (const Op* op : *elementwise->region()) {
    bool computes = op->kind() == OpKind::Load || op->kind() == OpKind::Store ||
                    op->kind() == OpKind::Yield || op->info().has(ir::kPure) ||
                    op->info().has(ir::kElementwise);
    if (!computes || !op->regions().empty() || MayTrap(op) || ++ops > kMostOps) return false;
  }
  return true;
}

/// Whether the op computes, loads or checks a number. It does not depend on the tiles, so it may precede their elementwise loop.
bool IsScalarOp(const Op* op) {
  bool loads = op->kind() == OpKind::Load && ir::IsScalar(op->result()->type());
  return op->kind() == OpKind::Const || op->kind() == OpKind::Check ||
         ((loads || op->info().is_computed()) && !MayTrap(op));
}

/// Whether the loop loads a number from a tensor that its elementwise loop stores.
bool LoadsWhatItStores(const Op* loop, const Op* elementwise) {
  std::vector<const Value*> stored;
  for (const Op* op : *elementwise->region()) {
    if (op->kind() == OpKind::Store) stored.push_back(ir::MemoryOf(TensorOf(op)));
  }
  for (const Op* op : *loop->region()) {
    if (op->kind() == OpKind::Load && Contains(stored, ir::MemoryOf(TensorOf(op)))) return true;
  }
  return false;
}

class LoopFinder {
 public:
  std::optional<CarriedLoop> Find(const Op* loop) {
    found_.loop = loop;
    bool has_users =
        std::ranges::any_of(loop->results(), [](const Value* v) { return !v->uses().empty(); });
    if (has_users || !loop->attrs().empty()) return std::nullopt;
    for (const Op* op : *loop->region()) {
      if (!Visit(op)) return std::nullopt;
    }
    bool fits = found_.elementwise && !found_.elements.empty() &&
                std::ranges::all_of(buffers_, [](const Value* buffer) { return buffer; }) &&
                IsShortBody(found_.elementwise) && ArePointsApart(found_.elementwise) &&
                !LoadsWhatItStores(loop, found_.elementwise) && FindElements();
    return fits ? std::optional(found_) : std::nullopt;
  }

 private:
  bool Visit(const Op* op) {
    switch (op->kind()) {
      case OpKind::LoadTile:
        return !found_.elementwise && op->operands().size() == 1;
      case OpKind::Elementwise:
        if (found_.elementwise || op->operands().size() != 1) return false;
        found_.elementwise = op;
        buffers_.resize(op->results().size());
        found_.elements.resize(op->results().size());
        return true;
      case OpKind::StoreTile: {
        const Value* tile = op->operand(0);
        if (tile->def() != found_.elementwise || tile->uses().size() != 1 ||
            op->operands().size() != 2)
          return false;
        buffers_[tile->index()] = op->operand(1);
        return true;
      }
      default:
        return op == op->parent_region()->terminator() || IsScalarOp(op);
    }
  }

  /// Finds the elements of the tiles that are stored. All of them must be those of the current point.
  bool FindElements() {
    for (const Op* op : *found_.elementwise->region()) {
      if (op->kind() != OpKind::Element) continue;
      const Op* load = op->operand(0)->def();
      if (!load || load->kind() != OpKind::LoadTile ||
          load->parent_region() != found_.loop->region())
        continue;
      auto buffer = std::ranges::find(buffers_, load->operand(0));
      if (buffer == buffers_.end()) continue;
      if (op->operand(1) != found_.elementwise->region()->params().back()) return false;
      found_.elements[static_cast<size_t>(buffer - buffers_.begin())].push_back(op);
    }
    return std::ranges::none_of(found_.elements,
                                [](const auto& elements) { return elements.empty(); });
  }

  CarriedLoop found_;
  std::vector<const Value*> buffers_;  ///< for each result, the buffer in which it is stored
};

class CarriedTiles {
 public:
  CarriedTiles(Expander& e, const CarriedLoop& carried)
      : e_(e), carried_(carried), body_(e, carried.elementwise), axis_(body_.axes().back()) {}

  bool Fits() const {
    bool lies_along = std::ranges::all_of(body_.tile_buffers(), [&](const TileBuffer& buffer) {
      return buffer.axes.size() == 1 && LiesAlong(buffer, axis_);
    });
    return body_.last().Vectorizes() && body_.Lanes() > 1 && lies_along;
  }

  /// Emits a version of the loop for each number of elements that fill a few vectors, or are as many as those of a
  /// narrower vector, and `otherwise` for all other numbers.
  void ExpandLoop(const std::function<void()>& otherwise) {
    Window window = e_.WindowOf(carried_.elementwise, axis_);
    int64_t most = std::min(MostVectors() * body_.Lanes(), e_.Extent(axis_));
    Expand(window, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))), otherwise);
  }

 private:
  /// Returns the largest number of vectors of channels. With more than two, states take at most a quarter of the registers.
  int64_t MostVectors() const {
    auto states = static_cast<int64_t>(carried_.elements.size());
    constexpr int64_t kMany = 4;
    return kMany * states <= e_.facts.vector_registers / 4 ? kMany : 2;
  }

  /// Emits the versions for up to `most` elements.
  void Expand(const Window& window, int64_t most, const std::function<void()>& otherwise) {
    if (most == 0) return otherwise();
    int64_t lanes = std::min(body_.Lanes(), most);
    std::vector<Chunk> chunks(static_cast<size_t>(most / lanes), {lanes});
    auto run = [&] { CarryChunks(window, chunks); };
    auto expand_fewer = [&] { Expand(window, most / 2, otherwise); };
    std::optional<int64_t> size = ConstantOf(window.size);
    if (size) return size == most ? run() : expand_fewer();
    MakeIf(e_.b, e_.b.Eq(window.size, e_.b.I64(most)), run, expand_fewer);
  }

  void CarryChunks(const Window& window, const std::vector<Chunk>& chunks) {
    Values carried;
    ForEach(window, chunks, [&](size_t result, const Chunk& chunk) {
      Scalar scalar = carried_.elementwise->result(result)->type()->scalar;
      carried.push_back(
          LoadChunk(e_, body_.tile_buffers()[result], scalar, body_.position(), chunk));
    });
    carried = MakeCopy(carried, [&](const Values& before) {
      Values after;
      for (size_t i = 0; i < chunks.size(); ++i) {
        body_.position()[axis_] = PlaceOf(window, chunks, i);
        RunChunk(chunks[i], before, after);
      }
      return after;
    });
    size_t next = 0;
    ForEach(window, chunks, [&](size_t result, const Chunk& chunk) {
      StoreChunk(e_, carried[next++], body_.tile_buffers()[result], body_.position(), chunk);
    });
  }

  Value* PlaceOf(const Window& window, const std::vector<Chunk>& chunks, size_t chunk) {
    return e_.b.Add(window.lo, e_.b.I64(static_cast<int64_t>(chunk) * chunks[0].lanes));
  }

  template <class Visit>
  void ForEach(const Window& window, const std::vector<Chunk>& chunks, Visit&& visit) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      body_.position()[axis_] = PlaceOf(window, chunks, i);
      for (size_t result = 0; result < carried_.elements.size(); ++result) visit(result, chunks[i]);
    }
  }

  /// Runs the body for a chunk. Takes the next values of `before` for its tiles, and adds those after it to `after`.
  void RunChunk(const Chunk& chunk, const Values& before, Values& after) {
    body_.Locally([&] {
      body_.MapPoint(0);
      size_t first = after.size();
      for (size_t result = 0; result < carried_.elements.size(); ++result) {
        for (const Op* element : carried_.elements[result])
          body_.Bind(element->result(), before[first + result]);
      }
      const Op* yield = carried_.elementwise->region()->terminator();
      body_.Expand(chunk, [&](const Op* op) {
        return op != yield && std::ranges::none_of(carried_.elements, [&](const auto& elements) {
                 return std::ranges::find(elements, op) != elements.end();
               });
      });
      for (Value* value : yield->operands())
        after.push_back(e_.b.Splat(body_.Term(value), chunk.lanes));
    });
  }

  /// Emits a copy of the loop, which carries these values in addition to its own numbers, and returns the last values. `body`
  /// returns those after an iteration.
  Values MakeCopy(const Values& inits, const std::function<Values(const Values&)>& body) {
    const Op* loop = carried_.loop;
    auto segments = SegmentsOf(loop, [&](Value* old) { return e_.Scalar(old); });
    std::vector<Value*>& all = segments[ir::LoopOp::at_inits];
    const size_t numbers = all.size();
    all.insert(all.end(), inits.begin(), inits.end());
    Op* copy = e_.b.Create(OpKind::Loop, segments, TypesOf(all));
    for (const Value* param : loop->region()->params())
      e_.scalars[param] = e_.b.AddParam(copy->region(), param->type(), param->name());
    Values before;
    for (const Value* init : inits)
      before.push_back(e_.b.AddParam(copy->region(), init->type(), {}));
    FillRegion(e_.b, copy->region(), [&] {
      for (Op* op : *loop->region()) {
        if (IsScalarOp(op)) ExpandScalarOp(e_, op);
      }
      Values after;
      for (Value* number : loop->region()->terminator()->operands())
        after.push_back(e_.Scalar(number));
      std::ranges::copy(body(before), std::back_inserter(after));
      return after;
    });
    return {copy->results().begin() + static_cast<std::ptrdiff_t>(numbers), copy->results().end()};
  }

  Expander& e_;
  const CarriedLoop& carried_;
  ElementwiseLoopBody body_;
  AxisId axis_;
};

}  // namespace

bool ExpandCarriedLoop(Expander& e, const Op* loop, const std::function<void()>& otherwise) {
  std::optional<CarriedLoop> carried = LoopFinder().Find(loop);
  if (!carried) return false;
  CarriedTiles tiles(e, *carried);
  if (!tiles.Fits()) return false;
  tiles.ExpandLoop(otherwise);
  return true;
}

}  // namespace kdl::cpu
