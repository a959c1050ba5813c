#include "ir/ring.h"
#include "passes/analysis/pipe_ends.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "support/check.h"

// lay-out-pipes: assigns offsets to the ring buffers of a kernel's pipes in the workspace of an instance: one
// after another, in source order. The attributes that it sets on a `pipe` op are the only description of the
// pipe's ring buffer. Pipes that are on chip have no ring buffer.
//
//   %q = pipe {name = "q", depth = 2} : pipe<f32,[64,64]>
//   -> %q = pipe {name = "q", depth = 2, from = "cube", to = "vector", header = 64, slot = 16448, offset = 0} : …

namespace kdl::passes {

namespace {

using ir::MakeAttr;

constexpr int64_t kMostBytes = int64_t{1} << 62;

/// Returns the name of the stage that contains these pushes or pops; empty if there are no pushes or pops.
Name StageName(const std::vector<ir::Op*>& ends) {
  const ir::Op* stage = ends.empty() ? nullptr : StageOf(ends[0]);
  return stage ? stage->attr<AttrKey::Name>() : Name();
}

/// Returns the ring buffer of a pipe at `offset`, or nothing if the workspace of an instance would become too
/// large.
std::optional<ir::Ring> RingAt(const ir::Op* pipe, int64_t offset) {
  std::optional<int64_t> slot = ir::SlotBytes(pipe->result()->type());
  if (!slot) return std::nullopt;
  ir::Ring ring{offset, ir::kRingHeaderBytes, *slot, pipe->attr<AttrKey::Depth>()};
  int64_t end = 0;
  bool overflow = __builtin_mul_overflow(ring.slot, ring.depth, &end) ||
                  __builtin_add_overflow(end, ring.header + offset, &end) || end > kMostBytes;
  return overflow ? std::nullopt : std::optional(ring);
}

}  // namespace

void RunLayOutPipes(PassContext& context, ir::Function& kernel) {
  if (context.facts && context.facts->pipes_on_chip) return;
  int64_t offset = 0;
  for (ir::Op* pipe : ir::PipesOf(kernel)) {
    std::optional<ir::Ring> ring = RingAt(pipe, offset);
    if (!ring) {
      context.diagnostics.Report(diag::PipesTooLarge, context.SpanOf(pipe->loc()),
                                 pipe->attr<AttrKey::Name>().text());
      return;
    }
    PipeEnds ends = PipeEndsOf(pipe->result());
    pipe->SetAttr(MakeAttr<AttrKey::From>(StageName(ends.pushes)));
    pipe->SetAttr(MakeAttr<AttrKey::To>(StageName(ends.pops)));
    pipe->SetAttr(MakeAttr<AttrKey::Header>(ring->header));
    pipe->SetAttr(MakeAttr<AttrKey::Slot>(ring->slot));
    pipe->SetAttr(MakeAttr<AttrKey::Offset>(ring->offset));
    offset += ring->bytes();
  }
}

}  // namespace kdl::passes
