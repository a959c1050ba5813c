#include "interp/ops/earliest_trap.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "interp/ops/control.h"
#include "interp/ops/tile_call.h"
#include "ir/op_kind.h"

// Statements are executed one after the other, each for all elements, also in a fn that is mapped over a tile. The
// interpreter calls such a fn element by element. So if the fn traps, an earlier op may trap for a later element, and
// that is the trap to report. To find it, the core calls the fn for the other elements, too, as far as the op that
// trapped. Loops of scalars are executed element by element, so they count as one op.

namespace kdl::interp {

namespace {

bool IsCallFrame(const Frame& frame) {
  return frame.owner && frame.owner->op->kind() == ir::OpKind::Call;
}

bool HasPipes(const Frame& frame) {
  return std::ranges::any_of(frame.owner->op->operands(), [](const ir::Value* operand) {
    return operand->type()->kind == ir::TypeKind::Pipe;
  });
}

/// Returns the position of an op below the outermost call: for each region around it, the number of its op, and of the
/// iteration. `back` is 1 if the innermost op has already begun.
std::vector<int64_t> PathOf(const Core& core, size_t back) {
  std::vector<int64_t> path;
  auto call = std::ranges::find_if(core.frames, IsCallFrame);
  bool of_tiles = true;
  for (auto frame = call; frame != core.frames.end(); ++frame) {
    const Frame* owner_frame = &*frame;
    ir::OpKind kind = owner_frame->owner->op->kind();
    if (kind == ir::OpKind::Call) {
      of_tiles = IsTileCall(*frame->owner->op);
    } else if (kind == ir::OpKind::If) {
      path.push_back(frame->block == &frame->here->code->blocks[frame->owner->regions[0]] ? 0 : 1);
    } else if (const auto* loop = std::get_if<LoopState>(&frame->control); loop && of_tiles) {
      path.push_back(loop->number);
    } else {
      return path;
    }
    bool is_last = frame + 1 == core.frames.end();
    path.push_back(static_cast<int64_t>(frame->next) - (is_last ? static_cast<int64_t>(back) : 1));
  }
  return path;
}

/// Ends the call of the fn for the current element, and begins that for the next one. If there is none, the core stops with
/// the earliest trap.
void GoOnWithNextElement(Core& core) {
  for (size_t i = core.frames.size(); i-- > 1;) {
    if (!IsCallFrame(core.frames[i])) continue;
    core.frames.erase(core.frames.begin() + static_cast<ptrdiff_t>(i) + 1, core.frames.end());
    if (BeginsNextElement(core)) return;
  }
  core.trap = std::move(core.earliest->trap);
  core.earliest.reset();
  core.state = MachineState::Trapped;
}

}  // namespace

void SeekEarlierTrap(Core& core) {
  bool is_mapped = std::ranges::any_of(core.frames, IsCallFrame);
  bool has_pipes = std::ranges::any_of(
      core.frames, [](const Frame& frame) { return IsCallFrame(frame) && HasPipes(frame); });
  if (!is_mapped || has_pipes || core.trap->finding != FindingKind::None) return;
  core.earliest = {std::move(*core.trap), PathOf(core, 1)};
  core.trap.reset();
  core.state = MachineState::Running;
  GoOnWithNextElement(core);
}

bool SkipsElement(Core& core) {
  const std::vector<int64_t> here = PathOf(core, 0);
  const std::vector<int64_t>& trap = core.earliest->path;
  auto [mine, theirs] = std::ranges::mismatch(here, trap);
  bool is_around = mine == here.end() && theirs != trap.end();
  bool is_earlier = mine != here.end() && theirs != trap.end() && *mine < *theirs;
  if (is_around || is_earlier) return false;
  GoOnWithNextElement(core);
  return true;
}

}  // namespace kdl::interp
