#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "support/scalar.h"
#include "support/size.h"

// check-scratch: what a core keeps at once, buffers of blocks that run within each other and of all stages, is no more than
// the target has for it. Changes nothing.
//
//   %acc = buffer_new : buffer<f32,[32768,32768]>   // 4 GiB, of 1 GiB: an error that says which blocks would fit

namespace kdl::passes {

namespace {

/// A buffer of a core. Bytes are doubles here: they may be many more than fit.
struct ScratchChunk {
  const Op* op = nullptr;
  std::vector<int64_t> extents;
  int64_t scalar_bytes = 0;
  int64_t copies = 1;

  double bytes() const {
    double all = static_cast<double>(scalar_bytes * copies);
    for (int64_t extent : extents) all *= static_cast<double>(extent);
    return all;
  }
};

double Sum(const std::vector<ScratchChunk>& chunks) {
  double sum = 0;
  for (const ScratchChunk& chunk : chunks) sum += chunk.bytes();
  return sum;
}

ScratchChunk ChunkOf(const ir::Function& kernel, const Op* buffer) {
  ir::Type type = buffer->result()->type();
  ScratchChunk chunk{buffer, {}, Bytes(type->scalar)};
  if (type->space != ir::Space::Workgroup) chunk.copies = kernel.workgroup;
  for (Size extent : type->dims) chunk.extents.push_back(extent->value);
  return chunk;
}

/// What is there when most is.
std::vector<ScratchChunk> PeakOf(const ir::Function& kernel, const ir::Region* region) {
  std::vector<ScratchChunk> most;
  std::vector<ScratchChunk> now;
  for (const Op* op : *region) {
    size_t before = now.size();
    for (const ir::Region* nested : op->regions()) {
      std::vector<ScratchChunk> inside = PeakOf(kernel, nested);
      now.insert(now.end(), inside.begin(), inside.end());
      if (Sum(now) > Sum(most)) most = now;
      if (op->kind() != OpKind::Stage) now.resize(before);  // stages run side by side
    }
    if (op->kind() == OpKind::BufferNew) now.push_back(ChunkOf(kernel, op));
  }
  return Sum(now) > Sum(most) ? now : most;
}

/// Today's size of a block to one that fits.
using Blocks = std::map<int64_t, int64_t>;

/// The block whose size the extent is, or a little more where rows are padded.
Blocks::iterator BlockOf(Blocks& blocks, int64_t extent) {
  auto above = blocks.upper_bound(extent);
  if (above == blocks.begin()) return blocks.end();
  auto block = std::prev(above);
  return extent - block->first <= block->first / 16 ? block : blocks.end();
}

double SumWith(Blocks& blocks, std::vector<ScratchChunk> chunks) {
  for (ScratchChunk& chunk : chunks)
    for (int64_t& extent : chunk.extents) extent = BlockOf(blocks, extent)->second;
  return Sum(chunks);
}

/// Halves the largest blocks until all fits; only those that change, none where nothing does.
Blocks BlocksThatFit(const std::vector<ScratchChunk>& chunks, double most) {
  std::set<int64_t> extents;
  for (const ScratchChunk& chunk : chunks)
    extents.insert(chunk.extents.begin(), chunk.extents.end());
  Blocks blocks;
  for (int64_t extent : extents)
    if (BlockOf(blocks, extent) == blocks.end()) blocks.emplace(extent, extent);
  while (SumWith(blocks, chunks) > most) {
    auto largest = std::ranges::max_element(blocks, {}, &Blocks::value_type::second);
    if (largest->second <= 1) return {};
    largest->second /= 2;
  }
  std::erase_if(blocks, [](const auto& block) { return block.first == block.second; });
  return blocks;
}

std::string Amount(double bytes) {
  constexpr const char* kMatrixInstructions[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t instruction = 0;
  for (; bytes >= 1024 && instruction + 1 < std::size(kMatrixInstructions); ++instruction)
    bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, kMatrixInstructions[instruction]);
}

std::string Describe(const ScratchChunk& chunk) {
  std::string_view name = chunk.op->result()->name().text();
  return fmt::format("{}: {}[{}] takes {}", name.empty() ? "a tile" : fmt::format("'{}'", name),
                     Spelling(chunk.op->result()->type()->scalar), fmt::join(chunk.extents, ", "),
                     Amount(chunk.bytes()));
}

/// Buffers of the team's, each of which has a place of its own in the memory in_workgroup its workers. What outlives a part between barriers
/// of the launch lies elsewhere.
std::vector<ScratchChunk> WorkgroupChunks(const ir::Function& kernel) {
  bool of_parts = false;
  ir::Walk(kernel.body, [&](const Op* op) { of_parts |= op->kind() == OpKind::Sync; });
  std::vector<ScratchChunk> chunks;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::BufferNew || op->result()->type()->space != ir::Space::Workgroup)
      return;
    bool elsewhere =
        op->HasAttr(ir::AttrKey::Global) || (of_parts && !op->HasAttr(ir::AttrKey::Brief));
    if (!elsewhere) chunks.push_back(ChunkOf(kernel, op));
  });
  return chunks;
}

/// The extent of the blocks that rows of this length hold.
int64_t WithoutPadding(const ir::Function& kernel, int64_t extent) {
  int64_t written = 0;
  for (const ir::Axis& axis : kernel.axes) {
    bool known = axis.extent != nullptr && IsConstant(axis.extent);
    int64_t length = known ? axis.extent->value : 0;
    if (length <= extent && extent - length <= length / 16) written = std::max(written, length);
  }
  return written == 0 ? extent : written;
}

void Report(PassContext& context, const ir::Function& kernel, std::vector<ScratchChunk> chunks,
            double most) {
  auto largest = [&] { return std::ranges::max_element(chunks, {}, &ScratchChunk::bytes); };
  Diagnostic& report = context.diagnostics.Report(
      diag::TilesTooLarge, context.SpanOf(largest()->op->loc()), kernel.base_name(),
      Amount(Sum(chunks)), context.facts->level, Amount(most));
  std::vector<std::string> sizes;
  for (auto [today, then] : BlocksThatFit(chunks, most)) {
    int64_t written = WithoutPadding(kernel, today);
    sizes.push_back(fmt::format("{} instead of {}", written / (today / then), written));
  }
  if (!sizes.empty()) {
    report.Help(fmt::format(
        "blocks of {} would fit: `by`, and of a range with `max` a loop over its blocks",
        fmt::join(sizes, ", ")));
  }
  constexpr int kShown = 4;
  for (int shown = 0; shown < kShown && !chunks.empty(); ++shown) {
    auto chunk = largest();
    report.Note(context.SpanOf(chunk->op->loc()), Describe(*chunk));
    chunks.erase(chunk);
  }
}

}  // namespace

void RunCheckScratch(PassContext& context, ir::Function& kernel) {
  auto workgroup = static_cast<double>(context.facts->workgroup_limit);
  std::vector<ScratchChunk> in_workgroup =
      workgroup > 0 ? WorkgroupChunks(kernel) : std::vector<ScratchChunk>();
  if (Sum(in_workgroup) > workgroup)
    return Report(context, kernel, std::move(in_workgroup), workgroup);
  auto most = static_cast<double>(context.facts->scratch_bytes);
  std::vector<ScratchChunk> chunks = PeakOf(kernel, kernel.body);
  if (Sum(chunks) > most) Report(context, kernel, std::move(chunks), most);
}

}  // namespace kdl::passes
