#include "sema/programs/definite_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

// A forward data-flow analysis over the syntax tree. It computes what the program has certainly written,
// and which of its tensors have unwritten memory after a swap. A loop is analyzed repeatedly, until its
// entry state no longer changes.

#include "sema/accesses/tensor_effects.h"
#include "sema/model/ast_walk.h"
#include "sema/programs/checkpoint.h"
#include "sema/programs/first_iteration.h"
#include "sema/programs/local_memory.h"
#include "sema/programs/written_elements.h"
#include "sema/programs/written_parts.h"

namespace kdl::sema {

namespace {

using syntax::As;
using syntax::Direction;
using syntax::Stmt;
using syntax::StmtKind;

/// A statement that writes only some elements of a tensor.
struct SomeWrite {
  Span span;
  std::string_view note;

  bool operator==(const SomeWrite&) const = default;
};

/// What is known at a point of the program. If a Flow has no value, the point is unreachable.
struct Known {
  std::map<const Entity*, Elements> written;  ///< elements that have certainly been written
  std::set<Part> parts;  ///< parts that have certainly been written; they may depend
                         ///< on loop variables
  /// Tensors that some path writes only in part, each with the statement that does so.
  std::map<const Entity*, SomeWrite> partial;
  LocalMemory memory;

  bool operator==(const Known&) const = default;
};
using Flow = std::optional<Known>;

constexpr std::string_view kWritesElement = "this writes only one element";
constexpr std::string_view kWritesPart = "this writes only a slice";
constexpr std::string_view kPartHelp =
    "write all of it, in a loop over the dimension (`{0}[i..min(i + 64, N)]` for i in "
    "0..N step 64) or as adjacent slices, or declare it as `inout`";
constexpr std::string_view kHelp =
    "write all of it on every path, with a launch, `copy(…, {0});` or a loop over its indices, or "
    "declare it as `inout`";
constexpr std::string_view kRestHelp =
    "write the rest of '{0}' first, in loops over its dimensions, or fill it where it is declared, "
    "`let {0}: … = 0.0;`, or read only what is written";
constexpr std::string_view kRestOfParamHelp =
    "write the rest of '{0}' first, in loops over its dimensions, or read only what is written";
constexpr std::string_view kNotReached = "this is not reached on every path";

class Walk {
 public:
  explicit Walk(FunctionState& state) : state_(state) {
    for (const TensorRead& read : state.tensor_reads) reads_.emplace(read.span.begin, &read);
    for (const auto& [expr, info] : state.fn.exprs) {
      if (info.index != nullptr) elements_[{expr->span.begin, expr->span.end}] = info.index;
    }
  }

  void Block(const syntax::BlockStmt& block) {
    for (const Stmt* stmt : block.stmts) Statement(stmt);
  }

  void Report(const ParamInfo& param) const {
    const Entity& tensor = *param.entity;
    if (!now_ || (WrittenElements(&tensor) & AllElements(tensor)) == AllElements(tensor)) return;
    std::string_view name = tensor.name.text();
    std::string_view program = state_.fn.item->name.name.text();
    auto first = first_.find(&tensor);
    if (first == first_.end()) {
      state_.diagnostics.Report(diag::OutNotWritten, tensor.span, name, program)
          .Help(fmt::format(
              "pass it to an `out` parameter of a launch, or write `copy(…, {});`; to keep "
              "its elements, declare it as `inout`",
              name));
      return;
    }
    state_.diagnostics.Report(diag::OutPartlyWritten, tensor.span, name, program)
        .Note(first->second.span, std::string(first->second.note))
        .Help(
            fmt::format(fmt::runtime(first->second.note == kWritesPart ? kPartHelp : kHelp), name));
  }

 private:
  /// A read of a part of a tensor of which only parts are written.
  struct PartRead {
    Part part;
    Span span;
  };

  /// The states at the jumps that leave a loop, and at the jumps that continue with its next iteration.
  struct Jumps {
    const Entity* binder = nullptr;  ///< the variable of a `for` with a single variable, or null
    Flow breaks = {};
    Flow continues = {};
    /// The number of branches around the current statement that the first iteration does not enter.
    int later = 0;
    std::vector<const TensorRead*> unsettled = {};
    /// Reads of parts that earlier iterations may have written.
    std::vector<PartRead> unsettled_parts = {};
    /// Tensors that have other memory in the next iteration, because the loop declares or swaps them.
    std::set<const Entity*> renewed = {};
    /// Numbers that have other values in the next iteration, because the loop declares them.
    std::set<Name> redefined = {};
  };

  /// Returns what is known at a point that is reached by either of two paths.
  Flow Meet(const Flow& a, const Flow& b) const {
    if (!a) return b;
    if (!b) return a;
    Known both{{}, CommonParts(state_, a->parts, b->parts), a->partial, a->memory};
    both.partial.insert(b->partial.begin(), b->partial.end());
    for (const auto& [tensor, elements] : a->written) {
      auto other = b->written.find(tensor);
      if (other != b->written.end()) both.written[tensor] = elements & other->second;
    }
    both.memory.Join(b->memory);
    return both;
  }

  Elements WrittenElements(const Entity* tensor) const {
    auto found = now_->written.find(tensor);
    return found == now_->written.end() ? 0 : found->second;
  }

  /// Records a write of `elements`. If these are not all elements of the tensor, `partly` is a note that
  /// messages show at the write.
  void Write(const Entity* tensor, Elements elements, Span span, std::string_view partly) {
    bool is_whole = (elements & AllElements(*tensor)) == AllElements(*tensor);
    first_.emplace(tensor, SomeWrite{span, is_whole ? kNotReached : partly});
    if (!now_) return;
    now_->written[tensor] |= elements;
    now_->memory.Write(tensor);
    if ((WrittenElements(tensor) & AllElements(*tensor)) == AllElements(*tensor)) {
      now_->partial.erase(tensor);
    } else {
      now_->partial.emplace(tensor, SomeWrite{span, partly});
    }
  }

  /// Checks that tensors have been written before they are read by an expression between the source
  /// positions `begin` and `end`.
  void Reads(uint32_t begin, uint32_t end) {
    if (!now_) return;
    for (auto at = reads_.lower_bound(begin); at != reads_.end() && at->first < end; ++at) {
      const TensorRead& read = *at->second;
      const Span* swap = now_->memory.UnwrittenBy(read.tensor);
      bool is_undefined = swap != nullptr || !now_->memory.IsWritten(read.tensor);
      bool may_wait = swap == nullptr && read.tensor->kind != EntityKind::LocalTensor;
      if (!is_undefined || may_wait) {
        auto element = elements_.find({read.span.begin, read.span.end});
        if (element != elements_.end()) ReadElement(*element->second, read.span);
      }
      if (!is_undefined) continue;
      if (may_wait) {
        Settle(read, jumps_.size());
      } else if (reported_.insert(&read).second) {
        ReportRead(read, swap);
      }
    }
  }

  /// Handles a read of elements of an `out` parameter that the program may not have written yet. If the read
  /// is in a branch that the first iteration of a loop does not enter, earlier iterations may have written the
  /// elements, which is known only at the end of an iteration. So the check is deferred to the end of such a loop:
  /// the innermost one of the first `loops` in `jumps_`, which lists outer loops first. If there is none, reports
  /// the read.
  void Settle(const TensorRead& read, size_t loops) {
    while (loops > 0 && jumps_[loops - 1].later == 0) --loops;
    if (loops > 0) {
      jumps_[loops - 1].unsettled.push_back(&read);
    } else if (reported_.insert(&read).second) {
      ReportRead(read, nullptr);
    }
  }

  /// If a checkpoint at `place` lacks the memory of the tensor that is read, reports that and returns true. After a swap, this
  /// is the memory of another tensor.
  bool ReportMissed(const Span* place, const Entity* tensor, Span read) {
    auto found = place == nullptr ? missed_.end() : missed_.find(place->begin);
    if (found == missed_.end()) return false;
    const std::vector<const Entity*>& missed = found->second;
    bool is_missed = std::ranges::find(missed, tensor) != missed.end();
    std::string_view name = (is_missed ? tensor : missed.front())->name.text();
    state_.diagnostics.Report(diag::CheckpointMisses, *place, name)
        .Note(read, "it is read here, before it is written again")
        .Help(fmt::format("add it: `checkpoint({}, …);`", name));
    return true;
  }

  void ReportRead(const TensorRead& read, const Span* swap) {
    std::string_view name = read.tensor->name.text();
    if (ReportMissed(swap, read.tensor, read.span)) return;
    if (swap != nullptr) {
      state_.diagnostics.Report(diag::SwappedReadBeforeWrite, read.span, name)
          .Note(*swap, "swapped here with a tensor that was never written")
          .Help(fmt::format("write '{}' after the swap, or both tensors before it", name));
      return;
    }
    Diagnostic& report = state_.diagnostics.Report(diag::ReadMaybeUnwritten, read.span, name);
    auto first = first_.find(read.tensor);
    if (first != first_.end()) report.Note(first->second.span, std::string(kNotReached));
    report.Help(fmt::format("write '{}' on every path to here, before the loop or `if`", name));
  }

  void Statement(const Stmt* stmt) {
    Reads(stmt->span.begin, HeadEnd(stmt));
    switch (stmt->kind) {
      case StmtKind::Block:
        return Block(As<syntax::BlockStmt>(stmt));
      case StmtKind::If:
        return If(As<syntax::IfStmt>(stmt));
      case StmtKind::For:
        return For(*As<syntax::ForStmt>(stmt).body, state_.fn.Info(stmt));
      case StmtKind::While:
        return While(As<syntax::WhileStmt>(stmt));
      case StmtKind::Break:
        jumps_.back().breaks = Meet(jumps_.back().breaks, std::exchange(now_, std::nullopt));
        return;
      case StmtKind::Continue:
        jumps_.back().continues = Meet(jumps_.back().continues, std::exchange(now_, std::nullopt));
        return;
      case StmtKind::Assign:
        return Assign(As<syntax::AssignStmt>(stmt));
      case StmtKind::Let:
      case StmtKind::Call:
      case StmtKind::Assert:
      case StmtKind::Print:
      case StmtKind::Launch:
      case StmtKind::Return:
      case StmtKind::Range:
      case StmtKind::Domain:
      case StmtKind::Pipe:
      case StmtKind::Stage:
      case StmtKind::View:
      case StmtKind::Sync:
      case StmtKind::Expect:
        return Calls(stmt);
    }
  }

  /// Returns the position of the first block inside a statement, or the end of the statement if it contains
  /// no block.
  static uint32_t HeadEnd(const Stmt* stmt) {
    // A block has no head; the condition of a `while` is handled by Loop.
    if (stmt->kind == StmtKind::Block || stmt->kind == StmtKind::While) return stmt->span.begin;
    uint32_t end = stmt->span.end;
    ForEachInside(stmt, [&](const Stmt* inner) { end = std::min(end, inner->span.begin); });
    return end;
  }

  void If(const syntax::IfStmt& choice) {
    Flow before = now_;
    const Entity* binder = jumps_.empty() ? nullptr : jumps_.back().binder;
    std::optional<bool> at_first;
    bool begins_anywhere =
        !bodies_.empty() && FindCheckpointOfLoop(state_.fn, *bodies_.back()).has_value();
    if (binder != nullptr && !begins_anywhere)
      at_first = InFirstIteration(state_, choice.condition, *binder);
    Branch(*choice.then_block, at_first == false);
    Flow after_then = std::exchange(now_, before);
    if (choice.else_stmt != nullptr) Branch(*choice.else_stmt, at_first == true);
    now_ = Meet(after_then, now_);
  }

  /// Analyzes a branch of an `if`. `is_later` says that the first iteration of the innermost loop does not enter it.
  void Branch(const Stmt& branch, bool is_later) {
    if (is_later) ++jumps_.back().later;
    Statement(&branch);
    if (is_later) --jumps_.back().later;
  }

  void While(const syntax::WhileStmt& loop) {
    const std::optional<Constant>& condition = state_.fn.Info(loop.condition).constant;
    bool is_true = condition && condition->bits != 0;
    Loop(*loop.body, is_true, !is_true, &loop, nullptr);
  }

  /// Analyzes a `for` loop. All iterations together write the union of the parts that single iterations
  /// write.
  void For(const syntax::BlockStmt& body, const StmtInfo& loop) {
    Flow iteration = Loop(body, HasIteration(loop), true, nullptr, &loop);
    if (now_) EraseParts(now_->parts, loop);
    for (const Part& part : iteration ? iteration->parts : std::set<Part>{}) {
      std::optional<Part> whole = OverAllIterations(state_, part, loop);
      if (whole && !IsLost(part.tensor, body)) WritePart(*whole);
    }
  }

  void WritePart(const Part& part) {
    if (!now_) return;
    now_->memory.Write(part.tensor);
    AddPart(state_, now_->parts, part);
    bool is_whole = std::ranges::any_of(now_->parts, [&](const Part& known) {
      return known.tensor == part.tensor && known.is_all();
    });
    if (!is_whole) return;
    now_->written[part.tensor] = kAllElements;
    now_->partial.erase(part.tensor);
  }

  /// Records that a tensor or a slice is passed as an `out` argument.
  void WriteTensor(const syntax::Expr* tensor, Span span) {
    std::optional<Part> part = PartOfTensor(state_, sources_, tensor);
    const Entity* memory = ShownTensor(state_.fn.Info(tensor).entity);
    Write(memory, part && part->is_all() ? kAllElements : 0, span, kWritesPart);
    if (part) WritePart(*part);
  }

  bool IsPartlyWritten(const Entity* tensor) const {
    return now_ && StartsUndefined(state_, *tensor) && now_->partial.contains(tensor);
  }

  /// Checks a read of a tensor or slice by a launch, a call or `copy`.
  void ReadTensor(const syntax::Expr* tensor) {
    const Entity* memory = ShownTensor(state_.fn.Info(tensor).entity);
    if (IsPartlyWritten(memory))
      ReadPart(memory, PartOfTensor(state_, sources_, tensor), tensor->span);
  }

  void ReadElement(const IndexInfo& index, Span span) {
    const Entity* memory = ShownTensor(index.base);
    if (IsPartlyWritten(memory)) ReadPart(memory, PartOfElement(state_, index), span);
  }

  /// Checks a read of a part of a tensor of which only parts are written.
  void ReadPart(const Entity* memory, const std::optional<Part>& part, Span span) {
    if (part && IsIn(state_, *part, now_->parts)) return;
    if (!part || !Postpone({*part, span})) ReportPart(memory, span);
  }

  /// If a part starts at the variable of an enclosing loop, earlier iterations of this loop may have written it,
  /// which is known at the end of an iteration. Returns whether there is such a loop.
  bool Postpone(const PartRead& read) {
    for (Jumps& loop : jumps_ | std::views::reverse) {
      bool starts = loop.binder != nullptr &&
                    std::ranges::count(read.part.dims, loop.binder, &PartDim::binder) == 1;
      if (!starts) continue;
      loop.unsettled_parts.push_back(read);
      return true;
    }
    return false;
  }

  void SettleParts(const Jumps& loop, const Flow& before, const Flow& each,
                   const syntax::BlockStmt& body) {
    for (const PartRead& read : loop.unsettled_parts) {
      bool is_written =
          before && each && !loop.renewed.contains(read.part.tensor) &&
          !IsLost(read.part.tensor, body) && !Mentions(read.part, loop.redefined) &&
          IsWrittenEarlier(state_, read.part, *loop.binder, before->parts, each->parts);
      if (!is_written && !Postpone(read)) ReportPart(read.part.tensor, read.span);
    }
  }

  void ReportPart(const Entity* memory, Span span) {
    // one report for the tensor is enough
    if (!partly_read_.insert(memory).second) return;
    std::string_view name = memory->name.text();
    auto lost = lost_.find(memory);
    if (lost != lost_.end() && ReportMissed(&lost->second, memory, span)) return;
    Diagnostic& report = state_.diagnostics.Report(diag::ReadMaybeUnwritten, span, name);
    auto first = first_.find(memory);
    if (now_ && now_->partial.contains(memory)) {
      const SomeWrite& writer = now_->partial.at(memory);
      report.Note(writer.span, std::string(writer.note));
    } else if (first != first_.end()) {
      report.Note(first->second.span, std::string(first->second.note));
    }
    report.Help(fmt::format(
        fmt::runtime(memory->kind == EntityKind::LocalTensor ? kRestHelp : kRestOfParamHelp),
        name));
  }

  /// Analyzes a loop. `has_iteration` says that the loop has at least one iteration, and `ends` that it may
  /// also end without a `break`. `condition` is the `while` whose condition is evaluated before each
  /// iteration, and `counted` describes a `for`. Returns what is known after each iteration, or nothing if an
  /// iteration may leave the loop.
  Flow Loop(const syntax::BlockStmt& body, bool has_iteration, bool ends,
            const syntax::WhileStmt* condition, const StmtInfo* counted) {
    const Entity* binder =
        counted != nullptr && counted->entities.size() == 1 ? counted->entities[0] : nullptr;
    Flow before = now_;
    Flow left, iteration;
    // If an enclosing loop is analyzed again, less is known than before. So the entry state that no longer
    // changed is an upper bound, which saves passes over loops in loops.
    Flow& known = entries_[&body];
    if (now_ && known) now_ = Meet(now_, known);
    for (Flow head; head = now_, true;) {
      if (condition != nullptr) Reads(condition->span.begin, body.span.begin);
      jumps_.push_back({.binder = binder});
      if (counted != nullptr) Redefine(*counted);
      bodies_.push_back(&body);
      Block(body);
      bodies_.pop_back();
      Flow after_iteration = Meet(now_, jumps_.back().continues);
      ForgetNumbers(after_iteration, jumps_.back().redefined);
      ForgetNumbers(jumps_.back().breaks, jumps_.back().redefined);
      left = Meet(left, jumps_.back().breaks);
      iteration = jumps_.back().breaks ? std::nullopt : after_iteration;
      if (ends) left = Meet(left, after_iteration);
      const Jumps ended = std::move(jumps_.back());
      jumps_.pop_back();
      SettleParts(ended, before, after_iteration, body);
      if (iteration) {
        std::erase_if(iteration->parts,
                      [&](const Part& part) { return ended.renewed.contains(part.tensor); });
      }
      for (const TensorRead* read : ended.unsettled) {
        bool is_written = after_iteration && after_iteration->memory.IsWritten(read->tensor);
        if (!is_written || IsLost(read->tensor, body)) Settle(*read, jumps_.size());
      }
      now_ = Meet(head, after_iteration);
      known = head;
      if (now_ == head) break;
    }
    now_ = has_iteration ? left : Meet(left, before);
    return iteration;
  }

  bool HasIteration(const StmtInfo& loop) const {
    for (const Entity* binder : loop.entities) {
      Size lo = binder->lo == nullptr ? nullptr : state_.fn.Info(binder->lo).size;
      Size hi = binder->hi == nullptr ? nullptr : state_.fn.Info(binder->hi).size;
      bool known = lo != nullptr && hi != nullptr && IsConstant(lo) && IsConstant(hi);
      if (!known || lo->value >= hi->value) return false;
    }
    return true;
  }

  /// Analyzes an assignment. With `+=` and similar operators, an undefined element stays undefined.
  void Assign(const syntax::AssignStmt& stmt) {
    const IndexInfo* index = state_.fn.Info(stmt.target).index;
    if (index == nullptr) return;
    bool writes = stmt.op == syntax::AssignOp::Set && stmt.condition == nullptr;
    bool is_view = ShownTensor(index->base) != index->base;
    Write(ShownTensor(index->base), writes && !is_view ? ElementAt(*index) : 0, stmt.span,
          kWritesElement);
    std::optional<Part> part = writes ? PartOfElement(state_, *index) : std::nullopt;
    if (part) WritePart(*part);
  }

  /// Returns whether what earlier iterations of the loop have written to the tensor may be lost: if the loop continues at its
  /// checkpoint, which does not contain the tensor.
  bool IsLost(const Entity* tensor, const syntax::BlockStmt& body) const {
    std::optional<Checkpoint> checkpoint = FindCheckpointOfLoop(state_.fn, body);
    bool is_outside = tensor->span.end <= body.span.begin;
    return checkpoint && is_outside && !checkpoint->Contains(tensor, state_.fn);
  }

  /// Forgets the tensors that a loop changes, and that its checkpoint does not contain: after an interruption, they have other
  /// elements.
  void ForgetUnsaved(const syntax::BlockStmt& body, const Checkpoint& checkpoint) {
    if (!now_) return;
    for (const Entity* tensor : ChangedTensors(state_.fn, body)) {
      if (tensor->kind != EntityKind::LocalTensor || checkpoint.Contains(tensor, state_.fn))
        continue;
      missed_[checkpoint.call->span.begin].push_back(tensor);
      if (now_->memory.IsWritten(tensor) && !now_->partial.contains(tensor))
        lost_.try_emplace(tensor, checkpoint.call->span);
      now_->memory.Forget(tensor, checkpoint.call->span);
      now_->written.erase(tensor);
      now_->partial.erase(tensor);
      std::erase_if(now_->parts, [&](const Part& part) { return part.tensor == tensor; });
    }
  }

  void Calls(const Stmt* stmt) {
    auto info = state_.fn.stmts.find(stmt);
    if (info == state_.fn.stmts.end()) return;
    if (const auto* let = syntax::DynAs<syntax::LetStmt>(stmt)) Declare(*let, info->second);
    if (std::optional<Checkpoint> checkpoint = FindCheckpoint(state_.fn, stmt))
      return ForgetUnsaved(*bodies_.back(), *checkpoint);
    if (const auto* view = syntax::DynAs<syntax::ViewStmt>(stmt))
      sources_[info->second.entities[0]] = view->source;
    if (const TensorCallInfo* call = info->second.tensors; call != nullptr && call->swaps) {
      if (now_)
        Swap(state_.fn.Info(call->from).entity, state_.fn.Info(call->to).entity, stmt->span);
    } else if (call != nullptr) {
      ReadTensor(call->from);
      WriteTensor(call->to, stmt->span);
    }
    const LaunchInfo* launch = info->second.launch;
    auto is_none = [&](size_t i) {
      const Entity* entity = state_.fn.Info(launch->args[i]).entity;
      return entity != nullptr && entity->is_absent;
    };
    for (size_t i = 0; launch != nullptr && i < launch->args.size(); ++i) {
      if (is_none(i)) continue;
      bool reads = launch->kernel->params[i].direction != Direction::Out;
      if (reads && launch->kernel->params[i].entity->type.is_tensor()) ReadTensor(launch->args[i]);
    }
    for (size_t i = 0; launch != nullptr && i < launch->args.size(); ++i) {
      if (is_none(i)) continue;
      Direction direction = launch->kernel->params[i].direction;
      const syntax::Expr* tensor = launch->args[i];
      if (direction == Direction::Out) WriteTensor(tensor, stmt->span);
      if (direction == Direction::InOut && now_)
        now_->memory.Write(ShownTensor(state_.fn.Info(tensor).entity));
    }
  }

  /// Exchanges two tensors. Afterwards, it is unknown which parts of the two tensors are written.
  void Swap(const Entity* a, const Entity* b, Span span) {
    Renew(a);
    Renew(b);
    now_->memory.Swap(a, b, span);
    std::swap(now_->written[a], now_->written[b]);
    auto of_a = now_->partial.extract(a);
    auto of_b = now_->partial.extract(b);
    if (of_a) now_->partial.emplace(b, of_a.mapped());
    if (of_b) now_->partial.emplace(a, of_b.mapped());
    std::erase_if(now_->parts,
                  [&](const Part& part) { return part.tensor == a || part.tensor == b; });
  }

  /// Records that a `let` or a loop defines numbers. What is known about parts that were described by numbers with these
  /// names concerned other values.
  void Redefine(const StmtInfo& info) {
    std::set<Name> names;
    for (const Entity* entity : info.entities) names.insert(entity->name);
    for (Jumps& loop : jumps_) loop.redefined.insert(names.begin(), names.end());
    ForgetNumbers(now_, names);
  }

  static void ForgetNumbers(Flow& flow, const std::set<Name>& names) {
    if (flow) std::erase_if(flow->parts, [&](const Part& part) { return Mentions(part, names); });
  }

  void Renew(const Entity* tensor) {
    for (Jumps& loop : jumps_) loop.renewed.insert(tensor);
  }

  void Declare(const syntax::LetStmt& let, const StmtInfo& info) {
    const Entity* name = info.entities.empty() ? nullptr : info.entities[0];
    if (name == nullptr) return;
    if (name->kind != EntityKind::LocalTensor) {
      Redefine(info);
      if (!let.is_var) sources_[name] = let.value;
      return;
    }
    if (!now_) return;
    Renew(name);
    now_->memory.Declare(name);
    now_->partial.erase(name);
    now_->written.erase(name);
    std::erase_if(now_->parts, [&](const Part& part) { return part.tensor == name; });
    if (let.value != nullptr) Write(name, kAllElements, let.span, kWritesPart);
  }

  FunctionState& state_;
  Flow now_ = Known{};
  std::vector<Jumps> jumps_;                          ///< one for each enclosing loop
  std::vector<const syntax::BlockStmt*> bodies_;      ///< those of these loops
  std::map<const syntax::BlockStmt*, Flow> entries_;  ///< what is known when an iteration starts
  std::map<const Entity*, SomeWrite> first_;
  /// All reads, keyed by the source positions at which they begin.
  std::multimap<uint32_t, const TensorRead*> reads_;
  /// The elements that expressions name, keyed by the source positions at which they begin and end.
  std::map<std::pair<uint32_t, uint32_t>, const IndexInfo*> elements_;
  std::set<const TensorRead*> reported_;
  std::set<const Entity*> partly_read_;
  Sources sources_;
  std::map<const Entity*, Span>
      lost_;  ///< tensors that are complete before a loop, and its checkpoint, which lacks them
  /// The changed tensors that each checkpoint lacks, keyed by the source positions at which the checkpoints begin.
  std::map<uint32_t, std::vector<const Entity*>> missed_;
};

}  // namespace

void CheckDefiniteWrites(FunctionState& state) {
  CheckCheckpointPlaces(state);
  if (state.diagnostics.error_count() > 0) return;
  Walk walk(state);
  walk.Block(*state.fn.item->body);
  for (const ParamInfo& param : state.fn.params) {
    if (param.direction == Direction::Out) walk.Report(param);
  }
}

}  // namespace kdl::sema
