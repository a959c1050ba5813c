#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/ranks/rank_traffic.h"
#include "driver/ranks/transport.h"
#include "driver/run/checkpoint_plan.h"
#include "driver/run/contracts.h"
#include "driver/run/host_tensor.h"
#include "driver/run/runtime_values.h"
#include "driver/run/started_operations.h"
#include "interp/contract.h"
#include "interp/program_host.h"
#include "interp/run.h"
#include "ir/contract.h"
#include "ir/module.h"
#include "kdl/checkpoints.h"
#include "kdl/runtime.h"
#include "support/end_by_signal.h"
#include "support/result.h"
#include "support/scalar.h"
#include "support/source.h"

namespace kdl::driver {

/// Which contracts of launched kernels are checked. On the debug device, requirements are always
/// checked.
enum class LaunchChecks : uint8_t { Nothing, Requirements, All };

/// Runs programs on the runtime. Each operation becomes calls to the runtime's C interface, the
/// same calls that the generated orchestration makes. The kernels must be registered with the
/// context under the module's name.
class Executor final : public interp::ProgramHost {
 public:
  /// `devices` maps the names of the module's devices to runtime devices. The context, the devices
  /// and the module must outlive the executor.
  Executor(kdl_context* context, const ir::Module& module, std::map<Name, kdl_device*> devices);
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Adds a tensor of the caller, so that it can be an argument for the program's parameters. Takes
  /// over the array's reference.
  interp::TensorId Add(const kdl_array& array);
  /// Returns the array of a tensor. The tensor must not have been freed.
  const kdl_array& array(interp::TensorId tensor) const { return tensors_[tensor.value]; }

  /// Sets the contracts that are checked at launches and at each `expect` of a test, and the
  /// sources that contain them. `contracts` and `sources` must outlive the executor.
  void SetContracts(const std::vector<ir::Contract>* contracts, const SourceManager* sources,
                    LaunchChecks checks) {
    contracts_ = contracts;
    sources_ = sources;
    checks_ = checks;
  }

  /// Sets the ranks of the program's device. Without this call, there is one.
  Status SetRanks(const LocalRanks& ranks);
  /// Sets what happens to the program's checkpoints. Without this call, it writes none. Must be called after SetRanks.
  Status SetCheckpoints(const CheckpointPlan& plan);
  /// Returns what the ranks of this process have sent so far.
  RankTrafficTable rank_traffic() const;

  /// Runs the program and waits for all operations that it has started. If some failed, returns the
  /// failure of the first in program order.
  Status RunProgram(const ir::Function& program, const interp::ProgramArguments& arguments);
  /// Repeats the last launch with the same arguments on the calling thread. The tensors of that
  /// launch must not have been freed.
  Status Relaunch();
  /// Frees what runs of programs have left: events, and tensors other than the first `arguments`.
  void ForgetRuns(size_t arguments);
  /// Sets a function that is called before each launch.
  void SetObserver(std::function<void(const interp::LaunchRequest&)> observer) {
    observer_ = std::move(observer);
  }
  /// Returns the types, shapes and numbers of a launch's arguments, without the elements of tensors.
  std::vector<HostTensor> ShapesOf(const interp::LaunchRequest& request) const;

  Result<interp::TensorId> Alloc(const interp::AllocRequest& request) override;
  Status Free(interp::TensorId tensor, const std::vector<interp::EventId>& after) override;
  Status Lives(interp::TensorId tensor, Name device, Name name) override;
  Result<bool> Overlap(interp::TensorId a, interp::TensorId b) override;
  Result<interp::TransferResult> Transfer(const interp::TransferRequest& request) override;
  Result<interp::EventId> Relocate(const interp::TransferRequest& request) override;
  Result<interp::EventId> CopyBack(const interp::CopyRequest& request) override;
  Result<interp::EventId> Copy(const interp::CopyRequest& request) override;
  Result<interp::EventId> Fill(const interp::FillRequest& request) override;
  interp::TensorId View(const interp::ViewRequest& request) override;
  std::vector<int64_t> Strides(interp::TensorId tensor) const override;
  Result<uint64_t> Load(interp::TensorId tensor, const std::vector<int64_t>& index,
                        const std::vector<interp::EventId>& after) override;
  Status Store(uint64_t bits, interp::TensorId tensor, const std::vector<int64_t>& index,
               const std::vector<interp::EventId>& after) override;
  Status Draw(interp::TensorId tensor, uint64_t seed,
              const std::vector<interp::EventId>& after) override;
  Status Expect(const interp::ExpectRequest& request) override;
  Result<int64_t> Cores(Name device) override;
  interp::RankCounts Ranks(Name device) const override;
  interp::IndexPart Owned(const interp::OwnedRequest& request) const override;
  int64_t CountOwnedBlocks(const interp::OwnedBlocksRequest& request) const override;
  interp::IndexPart OwnedBlock(const interp::OwnedBlocksRequest& request,
                               int64_t number) const override;
  interp::TensorId RankMemory(interp::TensorId tensor, int64_t rank) override;
  Status Fetch(const interp::FetchRequest& request) override;
  Status FinishFetches(Name device) override;
  Status Rewritten(const interp::RewrittenRequest& request) override;
  Status Checkpoint(const interp::CheckpointRequest& request) override;
  Status Restore(interp::CheckpointRequest& request) override;
  Result<interp::EventId> Mark(Name device, int64_t queue) override;
  Result<interp::WorkspaceId> MakeWorkspace(Name device, Name name) override;
  Result<int64_t> Footprint(Name device, Name kernel, Name constants) override;
  Result<int64_t> Instances(Name device, std::optional<int64_t> core_num) override;
  Status Reserve(const interp::ReserveRequest& request) override;
  Result<interp::EventId> Launch(const interp::LaunchRequest& request) override;

 private:
  Result<kdl_device*> FindDevice(Name name) const;
  Result<kdl_queue*> FindQueue(Name device, int64_t index);
  void Remove(interp::TensorId tensor);
  /// Returns an event that completes after all operations submitted to the queue so far and after
  /// all events in `after`.
  Result<interp::EventId> Join(kdl_queue* queue, const std::vector<interp::EventId>& after);
  Status WaitFor(const std::vector<interp::EventId>& after);
  /// The array of a tensor in the memory of a device: the original array, or a copy of it.
  struct Moved {
    kdl_array array;
    interp::EventId event;
  };
  Result<Moved> Move(const interp::TransferRequest& request);
  Status WaitForStarted();
  /// Checks that all processes that share the work run the program with these arguments.
  Status Agree(const ir::Function& program, const interp::ProgramArguments& arguments) const;
  Status AllocRanks(const interp::AllocRequest& request, interp::TensorId first);
  void FreeRanks(interp::TensorId tensor);
  Status Read(interp::TensorId tensor, HostTensor& into);
  Status ReadAll(const std::vector<interp::LaunchArgument>& arguments,
                 const std::vector<interp::EventId>& after, std::vector<HostTensor>& values,
                 interp::ContractData& data);
  /// The launch of a kernel whose contract is checked.
  struct CheckedLaunch {
    std::optional<BoundContract> contract;  ///< nothing if no contract has to be checked
    std::vector<HostTensor> before;         ///< the arguments before the launch
    std::map<Name, int64_t> sizes;
  };
  Result<CheckedLaunch> CheckRequired(const interp::LaunchRequest& request);
  Status CheckEnsured(const interp::LaunchRequest& request, const CheckedLaunch& launch,
                      interp::EventId done);
  /// The arguments of a kernel launch in the runtime's types.
  struct Launching {
    kdl_queue* queue = nullptr;
    const kdl_function* function = nullptr;
    int64_t core_num = KDL_CORES_AUTO;
    std::vector<kdl_arg> args;
    kdl_buffer* workspace = nullptr;
  };
  Result<Launching> Prepare(const interp::LaunchRequest& request);
  Result<interp::EventId> StartLaunch(const interp::LaunchRequest& request);
  template <class Use>
  Status WithElement(interp::TensorId tensor, const std::vector<int64_t>& index,
                     kdl_map_access access, Use use);
  /// Determines when a kernel's name includes its types. WhereNeeded: only if the arguments do not
  /// determine the types. WhereSeveral: whenever there are variants with other types.
  enum class TypeNames : uint8_t { WhereNeeded, WhereSeveral };
  std::string RuntimeNameOf(Name kernel, Name constants, TypeNames types) const;

  /// A block of memory for pipes, used by the launches that refer to it.
  struct Workspace {
    kdl_device* device;
    Name name;
    kdl_buffer* buffer;  ///< null until memory is reserved
  };

  kdl_context* context_;
  const std::vector<ir::Contract>* contracts_ = nullptr;
  const SourceManager* sources_ = nullptr;
  LaunchChecks checks_ = LaunchChecks::Nothing;
  const ir::Module& module_;
  std::map<Name, kdl_device*> devices_;
  std::vector<kdl_array> tensors_;  ///< indexed by id; an entry has no buffer after Free
  std::vector<interp::TensorId> free_tensors_;  ///< ids that new tensors get
  StartedOperations started_;
  std::vector<Workspace> workspaces_;  ///< indexed by id
  struct FreeRanksHandle {
    void operator()(kdl_ranks* ranks) const { kdl_ranks_free(ranks); }
  };
  std::unique_ptr<kdl_ranks, FreeRanksHandle> ranks_;
  /// For each distributed tensor, by the id of its first memory, the memories of the ranks of this process.
  std::map<uint32_t, std::vector<interp::TensorId>> memories_;
  struct FreeCheckpoints {
    void operator()(kdl_checkpoints* checkpoints) const { kdl_checkpoints_free(checkpoints); }
  };
  std::unique_ptr<kdl_checkpoints, FreeCheckpoints> checkpoints_;  ///< null if none are written
  std::optional<RemovedBySignal> temporary_;  ///< the file of a checkpoint that is being written
  Launching last_;
  std::function<void(const interp::LaunchRequest&)> observer_;
};

}  // namespace kdl::driver
