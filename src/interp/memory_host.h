#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "interp/program_host.h"
#include "interp/run.h"
#include "ir/module.h"

namespace kdl::interp {

/// Runs programs in the memory of this process, and their launches in the interpreter, one after another.
/// It is the reference for what programs do. All devices are equal. As on a real device, an error during a
/// launch is reported at the end (Finish), and all later requests are skipped.
class MemoryHost : public ProgramHost {
 public:
  /// The module must outlive the host. `default_core_num` is the number of cores for launches that do not
  /// state one.
  MemoryHost(const ir::Module& module, int64_t default_core_num, const RunOptions& options)
      : module_(&module), default_core_num_(default_core_num), options_(options) {}

  /// Returns a tensor in the caller's memory, which can be passed to a parameter of the program.
  TensorId Wrap(TensorArgument tensor);

  /// Returns the first error that occurred while running.
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
  /// Returns `default_core_num` for every device.
  Result<int64_t> Cores(Name device) override;
  Result<EventId> Mark(Name device, int64_t queue) override;
  /// Workspaces are represented by their sizes only, because the interpreter's launches allocate their
  /// own memory.
  Result<WorkspaceId> MakeWorkspace(Name device, Name name) override;
  Result<int64_t> Footprint(Name device, Name kernel, Name constants) override;
  Result<int64_t> Instances(Name device, std::optional<int64_t> core_num) override;
  Status Reserve(const ReserveRequest& request) override;
  Result<EventId> Launch(const LaunchRequest& request) override;

 protected:
  /// Returns the memory of a tensor.
  const TensorArgument& memory(TensorId tensor) const { return tensors_[tensor.value].view; }

 private:
  struct Entry {
    std::shared_ptr<std::vector<std::byte>> memory;  ///< null if the memory belongs to the caller
    TensorArgument view;
    bool alive = true;
  };
  TensorId Add(Entry entry);
  std::byte* ElementAt(TensorId tensor, const std::vector<int64_t>& index);

  const ir::Module* module_;
  int64_t default_core_num_;
  RunOptions options_;
  std::vector<Entry> tensors_;
  std::vector<int64_t> workspaces_;  ///< sizes in bytes
  std::optional<Failure> failed_;
  int64_t launch_count_ = 0;
};

/// Parses constants such as "BM=64, BN=32". Ignores entries for types, whose values are not integers.
Constants ParseConstants(std::string_view text);

}  // namespace kdl::interp
