#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "interp/program_host.h"
#include "interp/run.h"
#include "ir/module.h"

namespace kdl::interp {

/// Runs programs in this process's memory, launches by the interpreter, one after the other: the
/// oracle for programs. All devices are one. As on a device, what a launch finds wrong while it
/// runs comes out at the end (Finish), and nothing that was asked for after it takes place.
class MemoryHost final : public ProgramHost {
 public:
  /// The module must outlive the host. `default_core_num`: of launches that do not say.
  MemoryHost(const ir::Module& module, int64_t default_core_num, const RunOptions& options)
      : module_(&module), default_core_num_(default_core_num), options_(options) {}

  /// The caller's memory as a tensor, for the program's parameters.
  TensorId Wrap(TensorArgument tensor);

  /// The first thing that went wrong while running.
  Status Finish() const;
  int64_t launch_count() const { return launch_count_; }

  Result<TensorId> Alloc(const AllocRequest& request) override;
  Status Free(TensorId tensor, const std::vector<EventId>& after) override;
  Status Lives(TensorId tensor, Name device, Name name) override;
  Result<bool> Overlap(TensorId a, TensorId b) override;
  Result<TransferResult> Transfer(const TransferRequest& request) override;
  Result<EventId> Relocate(const TransferRequest& request) override;
  Result<EventId> CopyBack(const CopyRequest& request) override;
  Result<EventId> Copy(const CopyRequest& request) override;
  Result<EventId> Fill(const FillRequest& request) override;
  TensorId View(const ViewRequest& request) override;
  std::vector<int64_t> Strides(TensorId tensor) const override;
  Result<uint64_t> Load(TensorId tensor, const std::vector<int64_t>& index,
                        const std::vector<EventId>& after) override;
  Status Store(uint64_t bits, TensorId tensor, const std::vector<int64_t>& index,
               const std::vector<EventId>& after) override;
  /// Of every device: the number of a launch that does not say.
  Result<int64_t> Cores(Name device) override;
  Result<EventId> Mark(Name device, int64_t queue) override;
  /// Workspaces are sizes: the interpreter's launches have memory of their own.
  Result<WorkspaceId> MakeWorkspace(Name device, Name name) override;
  Result<int64_t> Footprint(Name device, Name kernel, Name constants) override;
  Result<int64_t> Instances(Name device, std::optional<int64_t> core_num) override;
  Status Reserve(const ReserveRequest& request) override;
  Result<EventId> Launch(const LaunchRequest& request) override;

 private:
  struct Entry {
    std::shared_ptr<std::vector<std::byte>> memory;  ///< null: the caller's
    TensorArgument view;
    bool alive = true;
  };
  TensorId Add(Entry entry);
  std::byte* ElementAt(TensorId tensor, const std::vector<int64_t>& index);

  const ir::Module* module_;
  int64_t default_core_num_;
  RunOptions options_;
  std::vector<Entry> tensors_;
  std::vector<int64_t> workspaces_;  ///< bytes
  std::optional<Failure> failed_;
  int64_t launch_count_ = 0;
};

/// "BM=64, BN=32" as constants; entries that are no integers (types) are left out.
Constants ParseConstants(std::string_view text);

}  // namespace kdl::interp
