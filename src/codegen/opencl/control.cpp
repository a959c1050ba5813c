#include <algorithm>
#include <set>

#include "codegen/opencl/writer.h"
#include "ir/op_table.h"
#include "ir/views.h"
#include "kdl/kernel_abi.h"
#include "support/check.h"

// Writes structured control flow. Loop-carried values, and the results of branches, are C variables.

namespace kdl::codegen::opencl {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

/// Declares a variable of the value's type and returns its name.
std::string Declare(Writer& w, const ir::Value* value, std::string_view init) {
  std::string name = w.NewName(value);
  std::string_view type = RegisterType(value->type()->scalar);
  init.empty() ? w.Line("{} {};", type, name) : w.Line("{} {} = {};", type, name, init);
  return name;
}

/// Assigns the terminator's operands to the variables, as if all assignments happened at the same time.
void Assign(Writer& w, const std::vector<std::string>& targets, const ir::Region* region) {
  const Op* yield = region->terminator();
  std::vector<std::string> values;
  for (size_t i = 0; i < targets.size(); ++i) values.emplace_back(w.Get(yield->operand(i)));
  for (size_t i = 0; i + 1 < targets.size(); ++i) {
    // A later assignment may need the old value of this variable, so the value is saved.
    bool wanted = false;
    for (size_t j = i + 1; j < targets.size(); ++j) wanted |= values[j] == targets[i];
    if (!wanted) continue;
    std::string kept = w.NewName(yield->operand(i));
    w.Line("const {} {} = {};", RegisterType(yield->operand(i)->type()->scalar), kept, targets[i]);
    for (size_t j = i + 1; j < targets.size(); ++j) {
      if (values[j] == targets[i]) values[j] = kept;
    }
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (values[i] != targets[i]) w.Line("{} = {};", targets[i], values[i]);
  }
}

void WriteRegion(Writer& w, const ir::Region* region, const std::vector<std::string>& targets) {
  ++w.depth;
  WriteRegion(w, region);
  Assign(w, targets, region);
  --w.depth;
}

void WriteIf(Writer& w, const Op* op) {
  std::vector<std::string> results;
  for (const ir::Value* result : op->results()) results.push_back(Declare(w, result, ""));
  w.Line("if ({}) {{", w.Get(op->operand(0)));
  WriteRegion(w, op->region(0), results);
  if (op->region(1)->first() != op->region(1)->terminator() || !results.empty()) {
    w.Line("}} else {{");
    WriteRegion(w, op->region(1), results);
  }
  w.Line("}}");
  for (size_t i = 0; i < results.size(); ++i) w.values[op->result(i)] = results[i];
}

std::vector<std::string> DeclareCarried(Writer& w, const ir::Region* region, size_t first,
                                        std::span<ir::Value* const> inits, const Op* op) {
  std::vector<std::string> carried;
  for (size_t i = 0; i < inits.size(); ++i) {
    const ir::Value* param = region->param(first + i);
    carried.push_back(Declare(w, param, w.Get(inits[i])));
    w.values[param] = w.values[op->result(i)] = carried[i];
  }
  return carried;
}

/// Returns whether a number may be anything: whether it depends on an element of a tensor or on a scalar parameter.
bool MayBeAnything(const ir::Value* value, std::set<const ir::Value*>& seen) {
  if (!seen.insert(value).second) return false;
  auto may = [&](const ir::Value* part) { return MayBeAnything(part, seen); };
  if (const Op* def = value->def()) {
    bool reads = def->kind() == OpKind::Load || def->kind() == OpKind::BufferLoad;
    return reads || !def->regions().empty() || std::ranges::any_of(def->operands(), may);
  }
  const Op* outer = value->parent_region()->parent();
  if (outer == nullptr || outer->kind() != OpKind::Loop || value->index() != 0) return true;
  ir::LoopOp loop(const_cast<Op*>(outer));
  return may(loop.lo()) || may(loop.hi());
}

/// Returns the rest of a loop's condition. Without it, a thread that has stopped in a loop between wrong numbers would
/// count for years. Loops with barriers end when all threads have stopped.
std::string WhileLive(const Writer& w, const Op* op) {
  ir::LoopOp loop(const_cast<Op*>(op));
  std::set<const ir::Value*> seen;
  bool bounded = !MayBeAnything(loop.lo(), seen) && !MayBeAnything(loop.hi(), seen);
  if (!w.traps || bounded) return "";
  bool waits = false;
  ir::Walk(op->region(), [&](const Op* inner) { waits |= inner->kind() == OpKind::Barrier; });
  return waits ? " && going" : " && ok";
}

void WriteThreadsRegion(Writer& w, const Op* op) {
  w.in_workgroup = true;
  WriteRegion(w, op->region(), {});
  w.in_workgroup = false;
}

/// Writes a loop whose iterations are distributed to the threads. All threads execute the same number of
/// iterations of the C loop, since drivers keep threads in step. If an index is beyond the end, the thread
/// does nothing.
void WriteWorkgroupLoop(Writer& w, const Op* op, const std::string& index) {
  ir::LoopOp loop(const_cast<Op*>(op));
  if (std::optional<int64_t> iterations = OneIterationOf(w.kernel, op)) {
    *iterations == w.kernel.workgroup ? w.Line("KDL_ALL_THREADS {{")
                                      : w.Line("KDL_THREADS_BELOW({}) {{", *iterations);
    w.Line("  const long {} = kdl_thread;", index);
    WriteThreadsRegion(w, op);
    w.Line("}}");
    return;
  }
  std::string first = w.NewName(nullptr);
  std::string_view hi = w.Get(loop.hi());
  std::string_view step = w.Get(loop.step());
  w.Line("for (long {0} = {1}; {0} < {2}{4}; {0} += KDL_WORKERS * {3}) KDL_ALL_THREADS {{", first,
         w.Get(loop.lo()), hi, step, WhileLive(w, op));
  w.Line("  const long {} = {} + kdl_thread * {};", index, first, step);
  w.Line("  if ({} < {}) {{", index, hi);
  ++w.depth;
  WriteThreadsRegion(w, op);
  --w.depth;
  w.Line("  }}");
  w.Line("}}");
}

void WriteLoop(Writer& w, const Op* op) {
  ir::LoopOp loop(const_cast<Op*>(op));
  const ir::Value* index = op->region()->param(0);
  std::vector<std::string> carried = DeclareCarried(w, op->region(), 1, loop.inits(), op);
  std::string name = w.NewName(index);
  std::string lo(w.Get(loop.lo()));
  std::string_view hi = w.Get(loop.hi());
  std::string_view step = w.Get(loop.step());
  w.values[index] = name;
  const Op* steps = loop.step()->def();
  bool known = steps && steps->kind() == OpKind::Const;
  if (MayTrap(op)) TrapUnless(w, fmt::format("{} > 0", step), op, KDL_TRAP_STEP, step, "0");
  if (op->HasAttr(AttrKey::Threads)) {
    return WriteWorkgroupLoop(w, op, name);
  }
  if (known && steps->attr<AttrKey::Bits>() == 1) {
    w.Line("for (long {0} = {1}; {0} < {2}{3}; ++{0}) {{", name, lo, hi, WhileLive(w, op));
  } else {
    std::string iterations = w.NewName(nullptr);
    w.Line("ulong {} = kdl_iterations({}, {}, {});", iterations, lo, hi, step);
    w.Line("for (long {0} = {1}; {2} > 0{4}; --{2}, {0} = (long)((ulong){0} + (ulong){3})) {{",
           name, lo, iterations, step, WhileLive(w, op));
  }
  WriteRegion(w, op->region(), carried);
  // A stopped thread reads zeros. It must leave the loop, because the value for which it waits may never
  // appear.
  if (op->HasAttr(AttrKey::Breaks))
    w.Line("  if (!{}{}) break;", carried[0], w.traps ? fmt::format(" || !{}", w.live()) : "");
  w.Line("}}");
}

/// Writes one iteration of a loop that contains grid-wide barriers. Each call of the kernel executes one
/// iteration, and memory keeps the loop-carried values until the next call. All cores store the number of the
/// next iteration.
void WritePart(Writer& w, const Op* op) {
  std::vector<std::string> carried;
  std::vector<std::string> kept;
  for (size_t i = 0; i < op->operands().size(); ++i) {
    const ir::Value* param = op->region()->param(i);
    kept.push_back(w.KeptPlace(param->type()->scalar));
    std::string init(w.Get(op->operand(i)));
    carried.push_back(
        Declare(w, param, fmt::format("kdl_launch[1] == 0 ? {} : {}", init, kept[i])));
    w.values[param] = w.values[op->result(i)] = carried[i];
  }
  w.Line("if ({}) {{", carried[0]);
  WriteRegion(w, op->region(), carried);
  for (size_t i = 0; i < carried.size(); ++i) w.Line("  {} = {};", kept[i], carried[i]);
  w.Line("  if ({} && kdl_thread == 0) kdl_record[4] = kdl_launch[1] + 1;", carried[0]);
  w.Line("}}");
}

void WriteWhile(Writer& w, const Op* op) {
  if (w.syncs && !w.in_workgroup && IsOfParts(op)) return WritePart(w, op);
  std::vector<std::string> carried = DeclareCarried(w, op->region(), 0, op->operands(), op);
  w.Line("while ({}{}) {{", carried[0], w.traps ? fmt::format(" && {}", w.live()) : "");
  WriteRegion(w, op->region(), carried);
  w.Line("}}");
}

void WriteCheck(Writer& w, const Op* op) {
  std::string_view index = w.Get(op->operand(0));
  std::string_view bound = w.Get(op->operand(1));
  TrapUnless(w, fmt::format("{0} >= 0 && {0} < {1}", index, bound), op, KDL_TRAP_INDEX, index,
             bound);
}

void WriteAssert(Writer& w, const Op* op) {
  ir::AssertOp assertion(const_cast<Op*>(op));
  std::string ok(w.Get(assertion.condition()));
  if (assertion.mask()) ok = fmt::format("!{} || {}", w.Get(assertion.mask()), ok);
  TrapUnless(w, ok, op, KDL_TRAP_ASSERT, "0", "0");
}

void WriteMatch(Writer& w, const Op* op) {
  std::string_view pushed = w.Get(op->operand(0));
  std::string_view popped = w.Get(op->operand(1));
  TrapUnless(w, fmt::format("{} == {}", pushed, popped), op, KDL_TRAP_TILE_SIZE, pushed, popped);
}

void WriteBarrier(Writer& w, const Op*) { w.dialect.WriteBarrier(w); }
void WriteCoreId(Writer& w, const Op* op) { w.values[op->result()] = "kdl_core"; }
void WriteCoreNum(Writer& w, const Op* op) { w.values[op->result()] = "kdl_cores"; }
void WriteAsyncCopy(Writer& w, const Op* op) { w.dialect.WriteAsyncCopy(w, op); }

/// Reports an internal error, because no pass creates this op for machines whose kernels are written in C.
void WriteForeign(Writer&, const Op* op) {
  KDL_UNREACHABLE("'{}' is not an op of machines whose kernels are written in C",
                  op->info().spelling);
}

using WriteFunction = void (*)(Writer& w, const Op* op);

template <OpKind kind>
consteval WriteFunction WriterOf() {
  constexpr const ir::OpInfo& kInfo = ir::kOpTable[static_cast<size_t>(kind)];
  if constexpr (HasExpression(kInfo)) {
    return &WriteExpression;
  } else if constexpr (kInfo.is_in(ir::kLoops) && !kInfo.has(ir::kTerminator)) {
    return &Write<kind>;
  } else {
    return nullptr;
  }
}

constexpr WriteFunction kWriters[] = {
#define KDL_OP_SHAPE(kind, ...) WriterOf<OpKind::kind>(),
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
};

}  // namespace

void Dialect::WriteAsyncCopy(Writer& w, const Op* op) { WriteForeign(w, op); }

void WriteRegion(Writer& w, const ir::Region* region) {
  const ir::Loc around = w.loc;
  for (const Op* op : *region) {
    if (op->info().has(ir::kTerminator)) break;
    WriteFunction write = kWriters[static_cast<size_t>(op->kind())];
    KDL_CHECK(write, "'{}' is not an op of the loop level", op->info().spelling);
    w.loc = op->loc();
    write(w, op);
  }
  w.loc = around;
}

KDL_WRITE(If, WriteIf)
KDL_WRITE(Loop, WriteLoop)
KDL_WRITE(While, WriteWhile)
KDL_WRITE(Check, WriteCheck)
KDL_WRITE(Assert, WriteAssert)
KDL_WRITE(Match, WriteMatch)
KDL_WRITE(Barrier, WriteBarrier)
KDL_WRITE(CoreId, WriteCoreId)
KDL_WRITE(CoreNum, WriteCoreNum)
KDL_WRITE(BusyCores, WriteNothing)
KDL_WRITE(Require, WriteNothing)
KDL_WRITE(Prefetch, WriteNothing)
KDL_WRITE(Sync, WriteNothing)
KDL_WRITE(AsyncCopy, WriteAsyncCopy)
KDL_WRITE(AsyncCopyWait, WriteAsyncCopy)
KDL_WRITE(Pipe, WriteForeign)
KDL_WRITE(Stage, WriteForeign)
KDL_WRITE(Acquire, WriteForeign)
KDL_WRITE(Commit, WriteForeign)
KDL_WRITE(Wait, WriteForeign)
KDL_WRITE(Release, WriteForeign)
KDL_WRITE(AlignGap, WriteForeign)
KDL_WRITE(RowsAdjoin, WriteForeign)
KDL_WRITE(JoinRows, WriteForeign)
KDL_WRITE(Pick, WriteForeign)
KDL_WRITE(Splat, WriteForeign)
KDL_WRITE(LaneMask, WriteForeign)
KDL_WRITE(LaneNumbers, WriteForeign)
KDL_WRITE(CountLanes, WriteForeign)
KDL_WRITE(Compress, WriteForeign)
KDL_WRITE(VectorMma, WriteForeign)
KDL_WRITE(TileMma, WriteForeign)
KDL_WRITE(Transpose, WriteForeign)
KDL_WRITE(Mma, WriteForeign)
KDL_WRITE(AsyncCopyCommit, WriteForeign)
KDL_WRITE(MbarrierInit, WriteForeign)
KDL_WRITE(MbarrierInvalidate, WriteForeign)
KDL_WRITE(MbarrierArrive, WriteForeign)
KDL_WRITE(MbarrierWait, WriteForeign)
KDL_WRITE(TileCopyFits, WriteForeign)
KDL_WRITE(ProxyFence, WriteForeign)
KDL_WRITE(MmaCommit, WriteForeign)
KDL_WRITE(MmaWait, WriteForeign)

}  // namespace kdl::codegen::opencl
