#include "interp/locate/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "interp/launch_state.h"
#include "interp/locate/core_pair.h"
#include "interp/locate/widen.h"
#include "interp/tensor_memory.h"
#include "ir/op_info.h"
#include "support/check.h"
#include "support/float_bits.h"

namespace kdl::interp {

namespace {

/// The arguments of a launch, and copies of them in f64.
class ExactArguments {
 public:
  ExactArguments(const ir::Function& kernel, const BoundParams& own, const OracleMemory& memory)
      : kernel_(kernel), own_(own), bound_(own) {
    bound_.workspace.reset();
    for (auto& [param, bits] : bound_.scalars) {
      Scalar scalar = kernel.body->param(param)->type()->scalar;
      if (IsFloat(scalar)) bits = std::bit_cast<uint64_t>(FloatValue(scalar, bits));
    }
    copies_.resize(own.tensors.size());
    for (size_t i = 0; i < own.tensors.size(); ++i) {
      const TensorValue& tensor = own.tensors[i].second;
      TensorValue& copy = bound_.tensors[i].second;
      copy.strides = RowMajorStrides(tensor.sizes);
      if (IsFloat(tensor.scalar)) {
        copies_[i].exact = memory.ElementsOf(tensor);
        copy.scalar = Scalar::F64;
        copy.data = reinterpret_cast<std::byte*>(copies_[i].exact.data());
      } else {
        CopyBytes(tensor, copies_[i].bytes);
        copy.data = copies_[i].bytes.data();
      }
    }
  }
  ExactArguments(const ExactArguments&) = delete;
  ExactArguments& operator=(const ExactArguments&) = delete;

  const BoundParams& bound() const { return bound_; }

  /// Remembers what the launch has written.
  void Keep(OracleMemory& memory) const {
    for (size_t i = 0; i < own_.tensors.size(); ++i) {
      const ir::Param& param = kernel_.params[own_.tensors[i].first - kernel_.dims.size()];
      const TensorValue& tensor = own_.tensors[i].second;
      if (param.direction != ir::Direction::In && IsFloat(tensor.scalar))
        memory.Remember(tensor, copies_[i].exact);
    }
  }

 private:
  struct Copy {
    std::vector<double> exact;
    std::vector<std::byte> bytes;
  };

  static void CopyBytes(const TensorValue& tensor, std::vector<std::byte>& bytes) {
    auto width = static_cast<size_t>(Bytes(tensor.scalar));
    for (PointWalk walk(tensor.sizes, {tensor.strides}); !walk.done(); walk.Next()) {
      const std::byte* from = tensor.data + walk.offset(0) * static_cast<int64_t>(width);
      bytes.insert(bytes.end(), from, from + width);
    }
  }

  const ir::Function& kernel_;
  const BoundParams& own_;
  BoundParams bound_;
  std::vector<Copy> copies_;
};

double LongestDimension(const BoundParams& params) {
  double longest = 1;
  for (const auto& [param, tensor] : params.tensors) {
    for (int64_t size : tensor.sizes) longest = std::max(longest, static_cast<double>(size));
  }
  return longest;
}

/// Runs all cores, one after another, from barrier to barrier.
std::optional<Trap> RunCores(const LaunchHalf& own, const LaunchHalf& exact, int64_t core_num,
                             const Judge& judge, const std::function<bool()>& is_stopped) {
  std::vector<CorePair> waiting;
  auto run = [&](CorePair core) -> std::optional<Trap> {
    MachineState state = core.RunToBarrier(is_stopped);
    KDL_CHECK(state != MachineState::Broken, "{}", core.machine().fault());
    if (state == MachineState::AtBarrier) waiting.push_back(std::move(core));
    return state == MachineState::Trapped ? core.trap() : std::nullopt;
  };
  for (int64_t id = 0; id < core_num; ++id) {
    if (auto trap = run(CorePair(own, exact, {id, core_num}, judge))) return trap;
  }
  for (;;) {
    own.state.LowerGroupReductions();
    exact.state.LowerGroupReductions();
    if (waiting.empty()) return std::nullopt;
    for (CorePair& core : std::exchange(waiting, {})) {
      if (auto trap = run(std::move(core))) return trap;
    }
  }
}

}  // namespace

std::optional<Located> ParseLocated(std::string_view text) {
  if (text == "errors") return Located::Errors;
  if (text == "not-finite") return Located::NotFinite;
  return std::nullopt;
}

Result<std::optional<Trap>> Locator::RunKernel(const ir::Module& module, const ir::Function& kernel,
                                               const Symbols& symbols, const BoundParams& params,
                                               int64_t core_num,
                                               const std::function<bool()>& is_stopped) {
  const std::lock_guard lock(mutex_);
  Result<Image> own_image = Prepare(module, kernel, symbols);
  if (!own_image.ok()) return own_image.failure();
  std::unique_ptr<ir::Module> wide = Widen(module, kernel);
  Result<Image> wide_image = Prepare(*wide, *wide->FindFunction(kernel.name), symbols);
  if (!wide_image.ok()) return wide_image.failure();
  ExactArguments exact(kernel, params, memory_);
  LaunchState states[2];
  std::vector<const ir::Function*> functions;
  for (const ir::Function* function : wide->functions())
    functions.push_back(module.FindFunction(function->name));
  // Tensors keep the errors of earlier launches.
  epsilon_ = std::max(epsilon_, NarrowestEpsilon(functions));
  Judge judge(what_, epsilon_, LongestDimension(params));
  std::optional<Trap> trap =
      RunCores({*own_image, params, states[0]}, {*wide_image, exact.bound(), states[1]}, core_num,
               judge, is_stopped);
  if (!trap && is_stopped && is_stopped())
    return Failure{fmt::format("launch of '{}': it was stopped", kernel.base_name())};
  if (!trap) exact.Keep(memory_);
  return trap;
}

}  // namespace kdl::interp
