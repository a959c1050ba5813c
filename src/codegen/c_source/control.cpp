#include <string>
#include <utility>
#include <vector>

#include "codegen/c_source/writer.h"
#include "codegen/common/compiled.h"
#include "ir/op_table.h"
#include "ir/views.h"
#include "kdl/kernel_abi.h"

// Writes structured control flow. Loop-carried values, and the results of branches, are C variables.

namespace kdl::codegen::c_source {

namespace {

using ir::AttrKey;

struct Variable {
  std::string name;
  std::string type;
  int mask_bits = 0;
};

int MaskBits(const ir::Value* value, int wanted) {
  bool is_mask = ir::IsVector(value->type()) && value->type()->scalar == Scalar::Bool;
  return is_mask ? (wanted == 0 ? 32 : wanted) : 0;
}

/// Declares a variable of the value's type.
Variable Declare(Writer& w, const ir::Value* value, const ir::Value* init) {
  int bits = MaskBits(value, init ? w.At(init).mask_bits : 0);
  Variable variable{w.NewName(value), w.Type(value, bits), bits};
  if (init) {
    w.Line("{} {} = {};", variable.type, variable.name,
           w.Lanes(init, ir::Lanes(value->type()), bits));
  } else {
    w.Line("{} {};", variable.type, variable.name);
  }
  return variable;
}

/// Assigns values to the variables, as if all assignments happened at the same time.
void Assign(Writer& w, const std::vector<Variable>& targets, std::vector<std::string> values) {
  for (size_t i = 1; i < targets.size(); ++i) {
    bool is_late = false;  // whether the value uses a variable that is assigned before
    for (size_t j = 0; j < i; ++j)
      is_late |=
          values[j] != targets[j].name && values[i].find(targets[j].name) != std::string::npos;
    if (!is_late || values[i] == targets[i].name) continue;
    std::string kept = w.NewName(nullptr);
    w.Line("const {} {} = {};", targets[i].type, kept, values[i]);
    values[i] = kept;
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (values[i] != targets[i].name) w.Line("{} = {};", targets[i].name, values[i]);
  }
}

std::vector<std::string> Yielded(Writer& w, const ir::Region* region,
                                 const std::vector<Variable>& targets,
                                 const std::vector<const ir::Value*>& results) {
  std::vector<std::string> values;
  const Op* yield = region->terminator();
  for (size_t i = 0; i < targets.size(); ++i)
    values.push_back(
        w.Lanes(yield->operand(i), ir::Lanes(results[i]->type()), targets[i].mask_bits));
  return values;
}

std::vector<const ir::Value*> ResultsOf(const Op* op) {
  return {op->results().begin(), op->results().end()};
}

void WriteIf(Writer& w, const Op* op) {
  std::vector<Variable> results;
  for (const ir::Value* result : op->results()) results.push_back(Declare(w, result, nullptr));
  auto write_branch = [&](size_t number) {
    ++w.depth;
    WriteRegion(w, op->region(number));
    if (!w.failure) Assign(w, results, Yielded(w, op->region(number), results, ResultsOf(op)));
    --w.depth;
  };
  w.Line("if ({}) {{", w.Get(op->operand(0)));
  write_branch(0);
  bool has_other = op->region(1)->first() != op->region(1)->terminator() || !results.empty();
  if (has_other) {
    w.Line("}} else {{");
    write_branch(1);
  }
  w.Line("}}");
  for (size_t i = 0; i < results.size(); ++i)
    w.values[op->result(i)] = {results[i].name, results[i].mask_bits};
}

std::vector<Variable> DeclareCarried(Writer& w, const Op* op, size_t first,
                                     std::span<ir::Value* const> inits) {
  std::vector<Variable> carried;
  for (size_t i = 0; i < inits.size(); ++i) {
    const ir::Value* param = op->region()->param(first + i);
    carried.push_back(Declare(w, param, inits[i]));
    w.values[param] = w.values[op->result(i)] = {carried[i].name, carried[i].mask_bits};
  }
  return carried;
}

bool IsConstantOne(const ir::Value* value) {
  const Op* def = value->def();
  return def && def->kind() == OpKind::Const && def->attr<AttrKey::Bits>() == 1;
}

bool IsKnown(const ir::Value* value) {
  const Op* def = value->def();
  return def && (def->kind() == OpKind::Const || def->kind() == OpKind::CoreNum);
}

/// Writes a loop. If cores take its iterations as they become free, core c gets iterations c, c + core_num, … here.
void WriteLoop(Writer& w, const Op* op) {
  ir::LoopOp loop(const_cast<Op*>(op));
  bool is_shared = op->HasAttr(AttrKey::DynamicCounter);
  std::vector<Variable> carried = DeclareCarried(w, op, 1, loop.inits());
  const ir::Value* index = op->region()->param(0);
  std::string name = w.NewName(index);
  w.values[index] = {name, 0};
  std::string lo = is_shared ? "kdl_core" : w.Get(loop.lo());
  std::string hi = w.Get(loop.hi());
  std::string step = is_shared ? "kdl_cores" : w.Get(loop.step());
  if (!IsKnown(loop.step())) TrapUnless(w, step + " > 0", op, KDL_TRAP_STEP);
  if (IsConstantOne(loop.step()) && !is_shared) {
    w.Line("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", name, lo, hi);
  } else {
    std::string left = w.NewName(nullptr);
    w.helpers.Define(
        "kdl_iterations",
        "// The number of iterations of a loop. The index after the last one may overflow.\n"
        "static inline uint64_t kdl_iterations(int64_t lo, int64_t hi, int64_t step) {\n"
        "  return lo < hi ? ((uint64_t)hi - (uint64_t)lo - 1) / (uint64_t)step + 1 : 0;\n"
        "}\n");
    w.Line("uint64_t {} = kdl_iterations({}, {}, {});", left, lo, hi, step);
    w.Line(
        "for (int64_t {0} = {1}; {2} > 0; --{2}, {0} = (int64_t)((uint64_t){0} + (uint64_t){3})) "
        "{{",
        name, lo, left, step);
  }
  ++w.depth;
  WriteRegion(w, op->region());
  if (!w.failure) Assign(w, carried, Yielded(w, op->region(), carried, ResultsOf(op)));
  if (op->HasAttr(AttrKey::Breaks) && !carried.empty()) w.Line("if (!{}) break;", carried[0].name);
  --w.depth;
  w.Line("}}");
}

std::string Any(Writer& w, const ir::Value* value, const Variable& variable) {
  if (!ir::IsVector(value->type())) return variable.name;
  return fmt::format("{}({})", w.helpers.HasTrue(variable.mask_bits, ir::Lanes(value->type())),
                     variable.name);
}

/// In a loop over vectors, lanes whose loop has ended keep their values.
void WriteWhile(Writer& w, const Op* op) {
  std::vector<Variable> carried = DeclareCarried(w, op, 0, op->operands());
  const ir::Region* region = op->region();
  bool is_vector = ir::IsVector(region->param(0)->type());
  w.Line("while ({}) {{", Any(w, region->param(0), carried[0]));
  ++w.depth;
  WriteRegion(w, region);
  if (!w.failure) {
    std::vector<std::string> values = Yielded(w, region, carried, ResultsOf(op));
    for (size_t i = 0; is_vector && i < values.size(); ++i) {
      if (values[i] == carried[i].name) continue;
      const ir::Value* param = region->param(i);
      int64_t lanes = ir::Lanes(param->type());
      Scalar scalar = param->type()->scalar;
      int bits = scalar == Scalar::Bool ? carried[i].mask_bits : 8 * Bytes(scalar);
      values[i] =
          i == 0 ? fmt::format("{}({}, {})", w.helpers.MaskOperator("and", "&", bits, lanes),
                               carried[0].name, values[i])
                 : fmt::format("{}({}, {}, {})", w.helpers.Select(scalar, lanes, bits),
                               w.Lanes(region->param(0), lanes, bits), values[i], carried[i].name);
    }
    Assign(w, carried, std::move(values));
  }
  --w.depth;
  w.Line("}}");
}

void WriteCheck(Writer& w, const Op* op) {
  ir::CheckOp check(const_cast<Op*>(op));
  std::string index = fmt::format("(int64_t){}", w.Get(check.index()));
  TrapUnless(w, fmt::format("{0} >= 0 && {0} < (int64_t){1}", index, w.Get(check.bound())), op,
             KDL_TRAP_INDEX);
}

bool WriteAssert(Writer& w, const Op* op) {
  ir::AssertOp assertion(const_cast<Op*>(op));
  if (ir::IsVector(assertion.condition()->type()) ||
      (assertion.mask() && ir::IsVector(assertion.mask()->type())))
    return false;
  std::string ok = w.Get(assertion.condition());
  if (assertion.mask()) ok = fmt::format("!{} || {}", w.Get(assertion.mask()), ok);
  TrapUnless(w, ok, op, KDL_TRAP_ASSERT);
  return true;
}

/// The reason for a trap, as text without numbers that are only known at run time.
std::string TrapText(const Op* op, int32_t trap) {
  TrapLocation place = LocationOf(op, trap);
  std::string text(place.text.text());
  switch (trap) {
    case KDL_TRAP_INDEX:
      return fmt::format("an index is outside dimension {} in '{}'", place.dimension, text);
    case KDL_TRAP_DIVISION:
      return fmt::format("division by zero in '{}'", text);
    case KDL_TRAP_STEP:
      return fmt::format("the step of '{}' is not positive", op->region()->param(0)->name().text());
    default:
      return fmt::format("assertion failed: {}", text);
  }
}

}  // namespace

void TrapUnless(Writer& w, std::string_view ok, const Op* op, int32_t trap) {
  ir::Loc loc = op->loc();
  std::string place = loc.line == 0
                          ? std::string()
                          : fmt::format("{}:{}:{}: ", loc.file.text(), loc.line, loc.column);
  std::string calls;
  for (const ir::CallSite* call = loc.call; call; call = call->at.call)
    calls += fmt::format("\n{}:{}:{}: note: called here", call->at.file.text(), call->at.line,
                         call->at.column);
  w.Line("if (!({})) return {};", ok, Literal(place + TrapText(op, trap) + calls));
}

std::string Literal(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      quoted += '\\';
      quoted += c;
    } else if (code < 0x20 || code >= 0x7f) {
      quoted += fmt::format("\\{:03o}", code);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

bool WriteControl(Writer& w, const Op* op) {
  switch (op->kind()) {
    case OpKind::If:
      WriteIf(w, op);
      return true;
    case OpKind::Loop:
      WriteLoop(w, op);
      return true;
    case OpKind::While:
      WriteWhile(w, op);
      return true;
    case OpKind::Check:
      WriteCheck(w, op);
      return true;
    case OpKind::Assert:
      return WriteAssert(w, op);
    case OpKind::CoreId:
      w.values[op->result()] = {"kdl_core", 0};
      return true;
    case OpKind::CoreNum:
      w.values[op->result()] = {"kdl_cores", 0};
      return true;
    case OpKind::Sync:  // a kernel with barriers runs on one core
    case OpKind::Barrier:
    case OpKind::BusyCores:
    case OpKind::Require:
    case OpKind::LaunchTensor:
      return true;
    default:
      return false;
  }
}

void WriteRegion(Writer& w, const ir::Region* region) {
  for (const Op* op : *region) {
    if (op->info().has(ir::kTerminator) || w.failure) break;
    if (!WriteElementwise(w, op) && !WriteLanes(w, op) && !WriteMemory(w, op) &&
        !WriteControl(w, op))
      w.Refuse(op, fmt::format("'{}'", op->info().spelling));
  }
}

}  // namespace kdl::codegen::c_source
