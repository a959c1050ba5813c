#include "passes/analysis/traffic.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

using Kind = TrafficItem::Kind;

bool IsBlock(const Value* value) { return value->type()->kind == ir::TypeKind::Block; }

/// The first character of names of values that only one stage knows.
constexpr char kPrivate = '?';
/// The first character of names of values that differ between the iterations of a loop.
constexpr char kIteration = '@';

std::string PrivateName(const void* thing) { return fmt::format("{}{}", kPrivate, thing); }

int LoopsAround(const Op* op) {
  int loops = 0;
  for (const Op* outer = op->parent_region()->parent(); outer;
       outer = outer->parent_region()->parent()) {
    loops += outer->kind() == OpKind::For || outer->kind() == OpKind::Loop ? 1 : 0;
  }
  return loops;
}

/// Returns a name for the index or block of a loop's current iteration. Loops in different stages get equal
/// names if they have the same nesting depth or, for `spmd for`, if they iterate over the same domain.
std::string IterationName(const Op* loop, size_t binder) {
  if (loop->kind() != OpKind::Spmd) return fmt::format("{}{}", kIteration, LoopsAround(loop));
  if (!loop->HasAttr(AttrKey::Domain)) return PrivateName(loop);
  return fmt::format("{}{}#{}", kIteration, loop->attr<AttrKey::Domain>().text(), binder);
}

std::string ValueName(const Value* value);

std::string ParamName(const Value* value) {
  const Op* parent = value->parent_region()->parent();
  if (!parent) return fmt::format("%{}", value->index());
  bool loop =
      parent->kind() == OpKind::Spmd ||
      ((parent->kind() == OpKind::For || parent->kind() == OpKind::Loop) && value->index() == 0);
  return loop ? IterationName(parent, value->index()) : PrivateName(value);
}

/// Returns a name for a value. Values with equal names are equal within one iteration of the loops to which
/// the name refers.
std::string ValueName(const Value* value) {
  const Op* def = value->def();
  if (!def) return ParamName(value);
  if (std::optional<int64_t> number = ConstantOf(value)) return fmt::format("{}", *number);
  if (def->kind() == OpKind::Const) return fmt::format("0x{:x}", def->attr<AttrKey::Bits>());
  if (def->kind() == OpKind::SizeOf) return ToString(def->attr<AttrKey::Size>());
  bool outside = def->parent_region()->parent() == nullptr;  // the same value in all stages
  // Pure and elementwise ops have equal results for equal operands, or trap in both stages.
  bool function = def->info().has(ir::kPure) || def->info().has(ir::kElementwise);
  bool known = function && def->regions().empty() && ir::IsScalar(value->type()) &&
               def->kind() != OpKind::Reduce && def->kind() != OpKind::Contraction &&
               def->kind() != OpKind::CoreId && def->kind() != OpKind::Call;
  if (!known)
    return outside ? fmt::format("%{}", static_cast<const void*>(value)) : PrivateName(value);
  std::string text = fmt::format("{}:{}(", def->info().spelling, Spelling(value->type()->scalar));
  for (const Value* operand : def->operands()) text += ValueName(operand) + ",";
  return text + ")";
}

bool IsPrivateName(const std::string& name) { return name.find(kPrivate) != std::string::npos; }

std::string CountName(const Count& count) {
  std::string text;
  for (const auto& [names, factor] : count) {
    text += fmt::format("{}{}*{}", text.empty() ? "" : "+", factor, fmt::join(names, "*"));
  }
  return text;
}

Count Number(int64_t number) { return number == 0 ? Count() : Count{{{}, number}}; }
Count Atom(std::string name) { return {{{std::move(name)}, 1}}; }

void Add(Count& sum, const Count& more) {
  for (const auto& [names, factor] : more) {
    int64_t& known = sum[names];
    known = static_cast<int64_t>(static_cast<uint64_t>(known) + static_cast<uint64_t>(factor));
    if (known == 0) sum.erase(names);
  }
}

Count Times(const Count& a, const Count& b) {
  Count product;
  for (const auto& [x, m] : a) {
    for (const auto& [y, n] : b) {
      std::vector<std::string> names = x;
      names.insert(names.end(), y.begin(), y.end());
      std::sort(names.begin(), names.end());
      auto factor = static_cast<int64_t>(static_cast<uint64_t>(m) * static_cast<uint64_t>(n));
      Add(product, {{names, factor}});
    }
  }
  return product;
}

/// Returns a name for the number of elements in an iteration of a `for`, or for the step of a `loop`.
std::string StrideName(const Op* loop) {
  if (loop->kind() == OpKind::Loop) return ValueName(ir::LoopOp(const_cast<Op*>(loop)).step());
  ir::AxisId axis = loop->region()->param(0)->type()->axes[0];
  return ToString(loop->region()->function()->axis(axis).extent);
}

/// Returns whether the bounds of the loop determine its number of iterations.
bool CountsIterations(const Op* loop) {
  bool counts = loop->kind() == OpKind::For || loop->kind() == OpKind::Loop;
  return counts && !loop->HasAttr(AttrKey::Breaks);
}

std::optional<int64_t> ParseNumber(const std::string& text) {
  if (text.empty() || text.find_first_not_of("-0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(text);
}

bool Mentions(const Count& count, const std::string& name) {
  return CountName(count).find(name) != std::string::npos;
}

/// Returns whether a condition, or a bound of a loop, depends on the index or block named `iteration`.
bool NamesIteration(const Traffic& traffic, const std::string& iteration) {
  return std::ranges::any_of(traffic, [&](const TrafficItem& item) {
    std::string name = item.kind == Kind::Branch ? ValueName(item.op->operand(0))
                       : item.kind == Kind::Loop ? IterationSpaceName(item.op)
                                                 : std::string();
    return name.find(iteration) != std::string::npos || NamesIteration(item.body, iteration) ||
           NamesIteration(item.other, iteration);
  });
}

// ---- Order of blocks

constexpr int64_t kMostRepeats = 64;  ///< maximum number of iterations of an unrolled loop

bool HasWalk(const TrafficItem& item) {
  auto holds = [](const Traffic& traffic) { return std::ranges::any_of(traffic, HasWalk); };
  return item.op->kind() == OpKind::Spmd || holds(item.body) || holds(item.other);
}

/// The order in which a stage pushes or pops the tiles of one pipe. Lists the loops over blocks, with the
/// tiles of each block. Also lists the pushes or pops between these loops, which each core executes.
class BlockOrder {
 public:
  explicit BlockOrder(const Value* pipe) : pipe_(pipe) {}

  std::vector<std::string> OrderIn(const Traffic& traffic) const {
    std::vector<std::string> order;
    Count between;
    auto end_between = [&] {
      if (!between.empty()) order.push_back(CountName(between));
      between.clear();
    };
    for (const TrafficItem& item : traffic) {
      Count tiles = Tiles({item});
      if (tiles.empty()) continue;
      if (!HasWalk(item)) {
        Add(between, tiles);
        continue;
      }
      end_between();
      std::vector<std::string> inside = OrderInItem(item);
      order.insert(order.end(), inside.begin(), inside.end());
    }
    end_between();
    return order;
  }

 private:
  Count Tiles(const Traffic& traffic) const {
    const Op* conditional = nullptr;
    return TileCount(traffic, pipe_, conditional);
  }

  std::vector<std::string> OrderInItem(const TrafficItem& item) const {
    if (item.op->kind() == OpKind::Spmd)
      return {fmt::format("{}{{{}}}", IterationSpaceName(item.op), CountName(Tiles(item.body)))};
    std::vector<std::string> body = OrderIn(item.body);
    if (item.kind == Kind::Loop) return OrderInLoop(item, body);
    std::vector<std::string> other = OrderIn(item.other);
    if (body == other) return body;
    return {fmt::format("if({}){{{}}}{{{}}}", ValueName(item.op->operand(0)), fmt::join(body, ";"),
                        fmt::join(other, ";"))};
  }

  static std::vector<std::string> OrderInLoop(const TrafficItem& loop,
                                              const std::vector<std::string>& iteration) {
    Count iterations = IterationCount(loop.op);
    bool is_number = iterations.size() == 1 && iterations.begin()->first.empty();
    int64_t repeats = is_number ? iterations.begin()->second : 0;
    if (repeats < 1 || repeats > kMostRepeats || DiffersByIteration(loop))
      return {fmt::format("{}{{{}}}", IterationSpaceName(loop.op), fmt::join(iteration, ";"))};
    std::vector<std::string> order;
    for (int64_t n = 0; n < repeats; ++n)
      order.insert(order.end(), iteration.begin(), iteration.end());
    return order;
  }

  const Value* pipe_;
};

// ---- Numbers of tiles

/// Counts tiles by executing the loops with example values for sizes and parameters.
class TileCounter {
 public:
  TileCounter(const Value* pipe, const Example& example) : pipe_(pipe), example_(example) {}

  std::optional<int64_t> CountTiles(const Traffic& traffic) {
    int64_t tiles = Count(traffic);
    return steps_ > kMostSteps ? std::nullopt : std::optional(tiles);
  }

 private:
  static constexpr int64_t kMostSteps = 200000;
  struct Iteration {
    int64_t start = 0;
    int64_t size = 1;
    int64_t number = 0;
  };

  int64_t Count(const Traffic& traffic) {
    int64_t tiles = 0;
    for (const TrafficItem& item : traffic) {
      if (++steps_ > kMostSteps) return 0;
      switch (item.kind) {
        case Kind::Push:
        case Kind::Pop:
          tiles += item.pipe == pipe_ ? 1 : 0;
          break;
        case Kind::Branch:
          tiles += Count(Get(item.op->operand(0)) != 0 ? item.body : item.other);
          break;
        case Kind::Loop:
          tiles += CountLoop(item, 0);
          break;
      }
    }
    return tiles;
  }

  int64_t CountLoop(const TrafficItem& item, size_t binder) {
    const Op* loop = item.op;
    if (loop->kind() == OpKind::While || loop->HasAttr(AttrKey::Breaks)) {
      steps_ = kMostSteps + 1;  // counts as too many, because the number of iterations is unknown
      return 0;
    }
    bool spmd = loop->kind() == OpKind::Spmd;
    if (binder == (spmd ? loop->region()->params().size() : 1)) return Count(item.body);
    const Value* param = loop->region()->param(binder);
    int64_t lo = Get(loop->operand(spmd ? 2 * binder : 0));
    int64_t hi = Get(loop->operand(spmd ? 2 * binder + 1 : 1));
    int64_t stride = 1;
    if (IsBlock(param)) {
      ir::Type type = param->type();
      stride = Evaluate(loop->region()->function()->axis(type->axes[0]).extent);
    } else if (!spmd) {
      stride = Get(loop->operand(2));
    }
    int64_t tiles = 0;
    for (int64_t at = lo, number = 0; at < hi && steps_ <= kMostSteps; ++number) {
      iterations_[param] = {at, std::min(stride, hi - at), number};
      tiles += CountLoop(item, binder + 1);
      at += std::max<int64_t>(stride, 1);
      ++steps_;
    }
    return tiles;
  }

  int64_t Evaluate(Size size) const {
    std::optional<int64_t> value = kdl::Evaluate(size, [&](Name name) -> std::optional<int64_t> {
      auto found = example_.find(name.str());
      return found != example_.end() ? std::optional(found->second) : std::nullopt;
    });
    return value.value_or(3);
  }

  /// Returns the value. If it is unknown, returns an arbitrary number, which is good enough for an example.
  int64_t Get(const Value* value) const {
    if (auto iteration = iterations_.find(value); iteration != iterations_.end())
      return iteration->second.start;
    if (std::optional<int64_t> number = ConstantOf(value)) return *number;
    const Op* def = value->def();
    if (!def) {
      auto found = example_.find(value->name().str());
      return found != example_.end() ? found->second : 3;
    }
    if (def->kind() == OpKind::SizeOf) return Evaluate(def->attr<AttrKey::Size>());
    if (def->operands().empty()) return 1;
    return Apply(def);
  }

  int64_t Apply(const Op* def) const {
    auto iteration = iterations_.find(def->operand(0));
    Iteration block = iteration != iterations_.end() ? iteration->second : Iteration{};
    if (def->kind() == OpKind::BlockStart) return block.start;
    if (def->kind() == OpKind::BlockSize) return block.size;
    if (def->kind() == OpKind::BlockIndex) return block.number;
    int64_t a = Get(def->operand(0));
    if (def->operands().size() == 1) return def->kind() == OpKind::Neg ? -a : a;
    if (!def->info().is_computed() || def->operands().size() != 2) return a;
    const uint64_t numbers[] = {static_cast<uint64_t>(a),
                                static_cast<uint64_t>(Get(def->operand(1)))};
    bool compares = def->result()->type()->scalar == Scalar::Bool;
    auto value =
        ir::Evaluate(def->kind(), Scalar::I64, compares ? Scalar::Bool : Scalar::I64, numbers);
    return static_cast<int64_t>(value.value_or(static_cast<uint64_t>(a)));
  }

  const Value* pipe_;
  const Example& example_;
  std::map<const Value*, Iteration> iterations_;
  int64_t steps_ = 0;
};

}  // namespace

Traffic TrafficOf(const ir::Region* region) {
  Traffic traffic;
  for (const Op* op : *region) {
    TrafficItem item;
    item.op = op;
    if (op->kind() == OpKind::Push || op->kind() == OpKind::Pop) {
      item.kind = op->kind() == OpKind::Push ? Kind::Push : Kind::Pop;
      item.pipe = op->operand(op->kind() == OpKind::Push ? size_t{ir::PushOp::at_pipe} : 0);
      traffic.push_back(std::move(item));
    } else if (!op->regions().empty()) {
      item.kind = op->kind() == OpKind::If ? Kind::Branch : Kind::Loop;
      item.body = TrafficOf(op->region());
      if (op->regions().size() > 1) item.other = TrafficOf(op->region(1));
      if (!item.body.empty() || !item.other.empty()) traffic.push_back(std::move(item));
    }
  }
  return traffic;
}

bool IsPrivate(const Count& count) { return IsPrivateName(CountName(count)); }

std::optional<Condition> SharedCondition(const TrafficItem& branch) {
  std::string name = ValueName(branch.op->operand(0));
  if (IsPrivateName(name)) return std::nullopt;
  bool in_iteration = name.find(kIteration) != std::string::npos;
  return Condition{std::move(name), in_iteration};
}

std::string IterationSpaceName(const Op* loop) {
  if (loop->kind() == OpKind::Spmd) {
    if (!loop->HasAttr(AttrKey::Domain)) return PrivateName(loop);
    return fmt::format("blocks({})", loop->attr<AttrKey::Domain>().text());
  }
  if (!CountsIterations(loop)) return PrivateName(loop);
  return fmt::format("turns({},{},{})", ValueName(loop->operand(0)), ValueName(loop->operand(1)),
                     StrideName(loop));
}

Count IterationCount(const Op* loop) {
  if (!CountsIterations(loop)) return Atom(IterationSpaceName(loop));
  std::optional<int64_t> first = ParseNumber(ValueName(loop->operand(0)));
  std::optional<int64_t> end = ParseNumber(ValueName(loop->operand(1)));
  std::optional<int64_t> step = ParseNumber(StrideName(loop));
  if (first && end && step && *step > 0) {
    return Number(*end > *first ? (*end - *first - 1) / *step + 1 : 0);
  }
  return Atom(IterationSpaceName(loop));
}

bool DiffersByIteration(const TrafficItem& loop) {
  const std::vector<Value*>& params = loop.op->region()->params();
  return std::ranges::any_of(
      params, [&](const Value* param) { return NamesIteration(loop.body, ValueName(param)); });
}

Count TileCount(const Traffic& traffic, const Value* pipe, const Op*& conditional) {
  Count tiles;
  for (const TrafficItem& item : traffic) {
    if (item.kind == Kind::Push || item.kind == Kind::Pop) {
      if (item.pipe == pipe) Add(tiles, Number(1));
      continue;
    }
    Count body = TileCount(item.body, pipe, conditional);
    if (item.kind == Kind::Branch) {
      Count other = TileCount(item.other, pipe, conditional);
      std::string condition = ValueName(item.op->operand(0));
      if (body != other && IsPrivateName(condition) && !conditional) conditional = item.op;
      Add(tiles, body == other ? body
                               : Atom(fmt::format("if({}){{{}}}{{{}}}", condition, CountName(body),
                                                  CountName(other))));
      continue;
    }
    if (body.empty()) continue;
    Count iterations = IterationCount(item.op);
    bool varies = false;
    for (size_t b = 0; b < item.op->region()->params().size(); ++b) {
      varies = varies || Mentions(body, ValueName(item.op->region()->param(b)));
    }
    Add(tiles,
        varies ? Atom(fmt::format("sum({}){{{}}}", IterationSpaceName(item.op), CountName(body)))
               : Times(iterations, body));
  }
  return tiles;
}

std::vector<std::string> BlockOrderOf(const Traffic& traffic, const Value* pipe) {
  return BlockOrder(pipe).OrderIn(traffic);
}

std::optional<int64_t> TilesIn(const Traffic& traffic, const Value* pipe, const Example& example) {
  return TileCounter(pipe, example).CountTiles(traffic);
}

}  // namespace kdl::passes
