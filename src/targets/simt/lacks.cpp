#include "targets/simt/lacks.h"

#include <set>
#include <string_view>

#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/diagnostics.h"

namespace kdl::simt {

namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

/// What stands outside of nests, which all workers compute alike.
template <class Visit>
void WalkOutsideNests(const ir::Block* block, const Visit& visit) {
  for (const Op* op : *block) {
    visit(op);
    if (op->kind() == OpKind::Nest) continue;
    for (const ir::Block* region : op->regions()) WalkOutsideNests(region, visit);
  }
}

std::set<const Value*> WrittenBy(const ir::Function& kernel) {
  std::set<const Value*> written;
  ir::Walk(kernel.body, [&](const Op* op) {
    bool writes = op->kind() == OpKind::Store || op->kind() == OpKind::Update;
    if (writes) written.insert(ir::MemoryOf(op->operand(ir::StoreOp::at_tensor)));
  });
  return written;
}

bool Syncs(const ir::Function& kernel) {
  bool syncs = false;
  ir::Walk(kernel.body, [&](const Op* op) { syncs |= op->kind() == OpKind::Sync; });
  return syncs;
}

}  // namespace

bool Lacks(const PassContext& context, const ir::Function& kernel) {
  bool lacks = false;
  auto report = [&](const Op* op, std::string_view what, std::string_view help) {
    context.diagnostics
        .Report(passes::diag::TeamsLack, context.SpanOf(op->loc()), context.facts->level, what)
        .Help(std::string(help));
    lacks = true;
  };
  std::set<const Value*> written = WrittenBy(kernel);
  bool syncs = Syncs(kernel);
  WalkOutsideNests(kernel.body, [&](const Op* op) {
    if (op->kind() == OpKind::Stage)
      report(op, "stages that wait for each other",
             "stages whose loops go in step become one; others run on a processor: --target host");
    if (op->kind() == OpKind::Print) report(op, "`print`", "print on a processor: --target host");
    bool reads_back =
        syncs && (op->kind() == OpKind::Element ||
                  (op->kind() == OpKind::Load && written.contains(ir::MemoryOf(op->operand(0)))));
    if (reads_back)
      report(op, "numbers that a kernel with `sync` reads of what it has computed",
             "let the program read the number and launch the rest, or run it on a processor: "
             "--target host");
  });
  return lacks;
}

}  // namespace kdl::simt
