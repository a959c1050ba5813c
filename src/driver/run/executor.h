#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/run/contracts.h"
#include "driver/run/host_tensor.h"
#include "interp/contract.h"
#include "interp/program_host.h"
#include "interp/run.h"
#include "ir/contract.h"
#include "ir/module.h"
#include "kdl/runtime.h"
#include "support/result.h"
#include "support/scalar.h"
#include "support/source.h"

namespace kdl::driver {

/// The runtime's code of an element type: KDL_F32 and so on.
uint8_t ElementCode(Scalar scalar);
Scalar ElementScalar(uint8_t code);

/// Takes the error: success for null. Who has to act follows from its code: the user for wrong
/// arguments and traps, else the environment; a fault of generated code ends the process as ours.
Status StatusOf(kdl_error* error);

/// What is checked of the contracts of the kernels that are launched. On the debug device requirements always are.
enum class LaunchChecks : uint8_t { Nothing, Requirements, All };

/// Runs programs over the runtime: what they ask for becomes calls of the C interface, the same
/// ones that the printed orchestration makes. The kernels are those that the context knows under
/// the module's name.
class Executor final : public interp::ProgramHost {
 public:
  /// `devices`: what the names of the module's devices stand for. Context, devices and module
  /// outlive the executor.
  Executor(kdl_context* context, const ir::Module& module, std::map<Name, kdl_device*> devices);
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// A tensor of the caller, for the program's parameters; the array's reference is taken.
  interp::TensorId Add(const kdl_array& array);
  /// A tensor whose life has not ended.
  const kdl_array& array(interp::TensorId tensor) const { return tensors_[tensor.value]; }

  /// What the `expect`s of a test refer to, and what launches have to fulfil; with the sources that they stand in. Both
  /// outlive the executor.
  void SetContracts(const std::vector<ir::Contract>* contracts, const SourceManager* sources,
                    LaunchChecks checks) {
    contracts_ = contracts;
    sources_ = sources;
    checks_ = checks;
  }

  /// Walks the program and waits for all that it has started. Gives the failure of the earliest
  /// operation, in the order of the program, that failed.
  Status Run(const ir::Function& program, const interp::ProgramArguments& arguments);
  /// Runs the last launch again, with the same arguments, on the calling thread. Its tensors are alive.
  Status Relaunch();

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
  Result<interp::EventId> Mark(Name device, int64_t queue) override;
  Result<interp::WorkspaceId> MakeWorkspace(Name device, Name name) override;
  Result<int64_t> Footprint(Name device, Name kernel, Name constants) override;
  Result<int64_t> Instances(Name device, std::optional<int64_t> core_num) override;
  Status Reserve(const interp::ReserveRequest& request) override;
  Result<interp::EventId> Launch(const interp::LaunchRequest& request) override;

 private:
  Result<kdl_device*> DeviceOf(Name name) const;
  Result<kdl_queue*> QueueOf(Name device, int64_t index);
  std::vector<kdl_event*> Events(const std::vector<interp::EventId>& events) const;
  interp::EventId AddEvent(kdl_event* event);
  /// An event after all that the queue was given, and all of `after`.
  Result<interp::EventId> Join(kdl_queue* queue, const std::vector<interp::EventId>& after);
  Status WaitFor(const std::vector<interp::EventId>& after);
  /// The tensor's array in the memory of a device: itself, or another one.
  struct Moved {
    kdl_array array;
    interp::EventId event;
  };
  Result<Moved> Move(const interp::TransferRequest& request);
  Status WaitForStarted();
  Status Read(interp::TensorId tensor, HostTensor& into);
  Status ReadAll(const std::vector<interp::LaunchArgument>& arguments,
                 const std::vector<interp::EventId>& after, std::vector<HostTensor>& values,
                 interp::ContractData& data);
  /// A launch whose kernel has a contract that is checked.
  struct CheckedLaunch {
    std::optional<BoundContract> contract;  ///< none: nothing is checked
    std::vector<HostTensor> before;         ///< the arguments
    std::map<Name, int64_t> sizes;
  };
  Result<CheckedLaunch> CheckRequired(const interp::LaunchRequest& request);
  Status CheckEnsured(const interp::LaunchRequest& request, const CheckedLaunch& launch,
                      interp::EventId done);
  /// A launch as the runtime takes it.
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
  /// Whether the runtime is told a kernel's types: only where the arguments do not say them, or
  /// wherever it has variants that differ in them.
  enum class TypeNames : uint8_t { WhereNeeded, WhereSeveral };
  std::string RuntimeNameOf(Name kernel, Name constants, TypeNames types) const;
  Status Wait();

  /// What the pipes of the launches lie in that name it.
  struct Workspace {
    kdl_device* device;
    Name name;
    kdl_buffer* buffer;  ///< null: nothing has been reserved
  };

  kdl_context* context_;
  const std::vector<ir::Contract>* contracts_ = nullptr;
  const SourceManager* sources_ = nullptr;
  LaunchChecks checks_ = LaunchChecks::Nothing;
  const ir::Module& module_;
  std::map<Name, kdl_device*> devices_;
  std::vector<kdl_array> tensors_;     ///< by id; without a buffer once freed
  std::vector<kdl_event*> events_;     ///< by id, in the order of the program
  std::vector<Workspace> workspaces_;  ///< by id
  Launching last_;
  size_t waited_ = 0;  ///< events that WaitForStarted has seen
};

}  // namespace kdl::driver
