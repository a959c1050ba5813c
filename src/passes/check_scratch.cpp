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

// check-scratch: checks that all buffers of a core that are live at the same time fit into the target's
// scratch memory. Buffers of nested blocks, and those of all stages, are live at the same time. The pass
// changes nothing.
//
//   %acc = buffer_new : buffer<f32,[32768,32768]>   // 4 GiB do not fit into 1 GiB: the error says which blocks would

namespace kdl::passes {

namespace {

/// A buffer of a core. Byte counts are doubles because they may exceed 64 bits.
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

ScratchChunk ScratchChunkOf(const ir::Function& kernel, const Op* buffer) {
  ir::Type type = buffer->result()->type();
  ScratchChunk chunk{buffer, {}, Bytes(type->scalar)};
  if (type->space != ir::Space::Workgroup) chunk.copies = kernel.workgroup;
  for (Size extent : type->dims) chunk.extents.push_back(extent->value);
  return chunk;
}

/// Returns the buffers that are live when the most memory is in use.
std::vector<ScratchChunk> PeakOf(const ir::Function& kernel, const ir::Region* region) {
  std::vector<ScratchChunk> most;
  std::vector<ScratchChunk> now;
  for (const Op* op : *region) {
    size_t before = now.size();
    for (const ir::Region* nested : op->regions()) {
      std::vector<ScratchChunk> inside = PeakOf(kernel, nested);
      now.insert(now.end(), inside.begin(), inside.end());
      if (Sum(now) > Sum(most)) most = now;
      if (op->kind() != OpKind::Stage) now.resize(before);  // stages run at the same time
    }
    if (op->kind() == OpKind::BufferNew) now.push_back(ScratchChunkOf(kernel, op));
  }
  return Sum(now) > Sum(most) ? now : most;
}

/// Maps the current size of a block to a size that fits.
using Blocks = std::map<int64_t, int64_t>;

/// Finds the block whose size is `extent`. Because of padding, the extent of a row may exceed the size of its
/// block by up to a sixteenth.
Blocks::iterator FindBlock(Blocks& blocks, int64_t extent) {
  auto above = blocks.upper_bound(extent);
  if (above == blocks.begin()) return blocks.end();
  auto block = std::prev(above);
  return extent - block->first <= block->first / 16 ? block : blocks.end();
}

double SumWith(Blocks& blocks, std::vector<ScratchChunk> chunks) {
  for (ScratchChunk& chunk : chunks)
    for (int64_t& extent : chunk.extents) extent = FindBlock(blocks, extent)->second;
  return Sum(chunks);
}

/// Halves the largest blocks until all buffers fit. Returns only the blocks that change, or none if even
/// blocks of one element do not fit.
Blocks BlocksThatFit(const std::vector<ScratchChunk>& chunks, double most) {
  std::set<int64_t> extents;
  for (const ScratchChunk& chunk : chunks)
    extents.insert(chunk.extents.begin(), chunk.extents.end());
  Blocks blocks;
  for (int64_t extent : extents)
    if (FindBlock(blocks, extent) == blocks.end()) blocks.emplace(extent, extent);
  while (SumWith(blocks, chunks) > most) {
    auto largest = std::ranges::max_element(blocks, {}, &Blocks::value_type::second);
    if (largest->second <= 1) return {};
    largest->second /= 2;
  }
  std::erase_if(blocks, [](const auto& block) { return block.first == block.second; });
  return blocks;
}

std::string Amount(double bytes) {
  constexpr const char* kPrefixes[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t prefix = 0;
  for (; bytes >= 1024 && prefix + 1 < std::size(kPrefixes); ++prefix) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, kPrefixes[prefix]);
}

std::string Describe(const ScratchChunk& chunk) {
  std::string_view name = chunk.op->result()->name().text();
  return fmt::format("{}: {}[{}] needs {}", name.empty() ? "a tile" : fmt::format("'{}'", name),
                     Spelling(chunk.op->result()->type()->scalar), fmt::join(chunk.extents, ", "),
                     Amount(chunk.bytes()));
}

/// Returns the buffers that are in workgroup memory. In kernels with `sync`, buffers that are live across a
/// launch barrier are in other memory.
std::vector<ScratchChunk> WorkgroupChunks(const ir::Function& kernel) {
  bool of_parts = false;
  ir::Walk(kernel.body, [&](const Op* op) { of_parts |= op->kind() == OpKind::Sync; });
  std::vector<ScratchChunk> chunks;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::BufferNew || op->result()->type()->space != ir::Space::Workgroup)
      return;
    bool elsewhere =
        op->HasAttr(ir::AttrKey::Global) || (of_parts && !op->HasAttr(ir::AttrKey::Brief));
    if (!elsewhere) chunks.push_back(ScratchChunkOf(kernel, op));
  });
  return chunks;
}

/// Returns the size of the block that is stored in rows of length `extent`, which may include padding.
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
    report.Help(
        fmt::format("make blocks smaller with `by`, and loop over the blocks of a range with "
                    "`max`: {} would fit",
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
