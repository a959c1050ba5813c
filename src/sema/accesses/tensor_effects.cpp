#include "sema/accesses/tensor_effects.h"

#include <algorithm>

#include "sema/accesses/slice.h"
#include "sema/diagnostics.h"
#include "sema/walk/quote.h"

namespace kdl::sema {

namespace {

using syntax::Direction;

Direction TensorDirection(const FunctionState& state, const Entity& tensor) {
  return tensor.kind == EntityKind::TensorParam ? state.fn.params[tensor.param].direction
                                                : Direction::InOut;
}

/// Returns the number of loops that enclose the declaration of the tensor.
int DeclarationLoopDepth(const FunctionState& state, const Entity* tensor) {
  auto depth = state.loop_depth_of.find(tensor);
  return depth == state.loop_depth_of.end() ? 0 : depth->second;
}

void ReportUndefined(FunctionState& state, const UndefinedRead& read) {
  std::string_view tensor = read.tensor->name.text();
  Diagnostic& report =
      read.reader.empty()
          ? state.diagnostics.Report(diag::HostReadBeforeWrite, read.span, tensor)
          : state.diagnostics.Report(diag::ReadBeforeWrite, read.span, tensor, read.reader);
  report.Note(read.tensor->span, "declared here, with undefined elements")
      .Help("launch a kernel that writes it first");
  state.written.insert(read.tensor);
}

/// The callee writes `tensors[i]`. Reports each other argument that overlaps it.
void CheckOverlap(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
                  const std::vector<const Entity*>& tensors, size_t i) {
  for (size_t j = 0; j < tensors.size(); ++j) {
    bool other_first = j < i && callee.params[j].direction != Direction::In;
    if (j == i || tensors[j] == nullptr || other_first) continue;
    const syntax::Expr* written = call.args[i].value;
    if (!ShareElements(state, written, call.args[j].value)) continue;
    state.diagnostics
        .Report(diag::ArgumentsOverlap, written->span, Quote(state, written),
                callee.params[i].entity->name.text(), callee.params[j].entity->name.text())
        .Note(call.args[j].value->span, "the other argument");
  }
}

bool MayWrite(FunctionState& state, const Entity* tensor, Span span, std::string_view writer,
              std::string_view param) {
  if (TensorDirection(state, *tensor) != Direction::In) return true;
  state.diagnostics.Report(diag::InputWritten, span, tensor->name.text(), writer, param)
      .Note(tensor->span, "declared here")
      .Help("declare it as `out` or `inout`");
  return false;
}

}  // namespace

bool StartsUndefined(const FunctionState& state, const Entity& tensor) {
  return tensor.kind == EntityKind::LocalTensor || TensorDirection(state, tensor) == Direction::Out;
}

void NoteRead(FunctionState& state, const Entity* tensor, Span span, std::string_view reader) {
  tensor = ShownTensor(tensor);
  if (!StartsUndefined(state, *tensor)) return;
  state.tensor_reads.push_back({tensor, span});
  if (state.written.contains(tensor)) return;
  UndefinedRead read{tensor, span, reader};
  if (DeclarationLoopDepth(state, tensor) == state.loop_depth) return ReportUndefined(state, read);
  state.undefined_reads.push_back(read);  // an earlier iteration may have written the tensor
}

void NoteWritten(FunctionState& state, const Entity* tensor, Span span, std::string_view writer,
                 std::string_view param) {
  tensor = ShownTensor(tensor);
  MayWrite(state, tensor, span, writer, param);
  state.written.insert(tensor);
}

void SettleReads(FunctionState& state) {
  std::vector<UndefinedRead> reads = std::move(state.undefined_reads);
  state.undefined_reads.clear();
  for (const UndefinedRead& read : reads) {
    if (state.written.contains(read.tensor)) continue;
    if (DeclarationLoopDepth(state, read.tensor) == state.loop_depth) {
      ReportUndefined(state, read);
    } else {
      state.undefined_reads.push_back(read);
    }
  }
}

void CheckEffects(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& callee,
                  const std::vector<const Entity*>& tensors) {
  std::string_view name = callee.entity->name.text();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] == nullptr) continue;
    Direction direction = callee.params[i].direction;
    Span span = call.args[i].value->span;
    if (direction != Direction::In && MayWrite(state, ShownTensor(tensors[i]), span, name,
                                               callee.params[i].entity->name.text())) {
      CheckOverlap(state, call, callee, tensors, i);
    }
    if (direction != Direction::Out) NoteRead(state, tensors[i], span, name);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool writes = tensors[i] != nullptr && callee.params[i].direction != Direction::In;
    if (writes) state.written.insert(ShownTensor(tensors[i]));
  }
}

void AssumeWritten(FunctionState& state, const syntax::CallExpr& call) {
  for (const syntax::Arg& arg : call.args) {
    auto known = state.fn.exprs.find(arg.value);
    const Entity* entity = known != state.fn.exprs.end() ? known->second.entity : nullptr;
    if (entity != nullptr && entity->type.is_tensor()) state.written.insert(ShownTensor(entity));
  }
}

}  // namespace kdl::sema
