#include "interp/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "interp/bound_params.h"
#include "interp/launch_state.h"
#include "interp/locate/locate.h"
#include "interp/machine.h"
#include "interp/tensor_view.h"
#include "interp/workgroup.h"
#include "ir/busy_cores.h"
#include "ir/op_kind.h"
#include "ir/requirement.h"
#include "support/check.h"

namespace kdl::interp {

namespace {

/// The maximum number of cores that run at the same time. It limits the memory of a launch on many cores.
constexpr size_t kCoresInFlight = 32;
constexpr uint64_t kMostStepsInARow = 64;
constexpr int64_t kStepsBetweenLooks = 64;

std::vector<std::vector<int64_t>> TensorSizes(const auto& tensors) {
  std::vector<std::vector<int64_t>> sizes;
  for (const auto& tensor : tensors) sizes.push_back(tensor.sizes);
  return sizes;
}

void CheckNotBroken(const Machine& machine, const ir::Function& function) {
  KDL_CHECK(machine.state() != MachineState::Broken, "in '{}': {}", function.name.text(),
            machine.fault());
}

/// Visits the numbers 0 to count - 1 in a pseudo-random order, without a table.
class CoreOrder {
 public:
  CoreOrder(int64_t count, std::mt19937_64& random) : count_(static_cast<uint64_t>(count)) {
    offset_ = random() % count_;
    do step_ = random() % count_ + 1;
    while (std::gcd(step_, count_) != 1);
  }
  int64_t At(int64_t i) const {
    auto place = static_cast<unsigned __int128>(i) * step_ + offset_;
    return static_cast<int64_t>(place % count_);
  }

 private:
  uint64_t count_;
  uint64_t offset_ = 0;
  uint64_t step_ = 1;
};

/// Returns the trap of the first `where` clause that the sizes violate, or nothing if there is none.
std::optional<Trap> FirstBroken(const ir::Function& function, const SizeValues& sizes) {
  for (const ir::Op* op : ir::RequirementsOf(function)) {
    if (std::optional<Trap> broken = BrokenRequirement(function, *op, sizes.AsSymbols()))
      return broken;
  }
  return std::nullopt;
}

/// Returns the number of leading cores that have work to do; the cores after them have no blocks. The result
/// is at least 1, because the first core also runs the code that every core executes before it finds that it
/// has no blocks.
int64_t BusyCores(const ir::Function& kernel, const SizeValues& sizes, int64_t core_num) {
  SizeTable table;
  std::vector<Size> counts;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::BusyCores) counts.push_back(op->attr<ir::AttrKey::Size>());
  });
  if (counts.empty()) {
    auto extent = [&](const ir::Op* spmd, size_t b) {
      return kernel.axis(spmd->region()->param(b)->type()->axes[0]).extent;
    };
    std::optional<std::vector<Size>> most = ir::MostBlocks(kernel, table, extent);
    if (!most) return core_num;
    counts = std::move(*most);
  }
  int64_t busy = 1;
  for (Size count : counts) {
    busy = std::max(busy, EvaluateChecked(count, sizes.AsSymbols()).value_or(core_num));
  }
  return std::min(busy, core_num);
}

/// Returns whether the kernel has been lowered to code for single GPU threads.
bool IsOfThreads(const ir::Function& kernel) {
  bool found = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    found |= op->kind() == ir::OpKind::Barrier || op->HasAttr(ir::AttrKey::Threads);
  });
  return found;
}

/// The GPU threads of one core. Above loop level, one machine represents all of them.
class CoreRun {
 public:
  CoreRun(const Image& image, CoreFacts facts, const BoundParams& params, int64_t threads)
      : workgroup_(std::make_unique<Workgroup>(threads)) {
    facts.workgroup = workgroup_.get();
    for (facts.thread = 0; facts.thread < threads; ++facts.thread) {
      params.ApplyTo(threads_.emplace_back(image, facts));
    }
  }

  /// Runs at most `steps` steps if there is one thread. If there are several threads, runs them until all
  /// of them wait at a barrier or have ended.
  MachineState RunSteps(int64_t steps) {
    if (threads_.size() == 1) {
      MachineState state = threads_[0].RunSteps(steps);
      while (state == MachineState::AtWorkgroupBarrier) state = threads_[0].RunSteps(steps);
      return state;
    }
    for (;; workgroup_->races().Meet()) {
      if (!RunToBarrier()) return threads_[current_].state();
      for (current_ = 0; current_ < threads_.size(); ++current_) {
        KDL_CHECK(threads_[current_].state() == threads_[0].state(),
                  "GPU thread {} of a core is at another barrier than thread 0", current_);
      }
      current_ = 0;
      if (threads_[0].state() != MachineState::AtWorkgroupBarrier) return threads_[0].state();
    }
  }
  /// Returns the machine of the thread that ended the run.
  const Machine& machine() const { return threads_[current_]; }

 private:
  /// Runs all threads to the next barrier. Threads that wait at mbarriers are resumed repeatedly. Returns
  /// false if a thread has ended the run.
  bool RunToBarrier() {
    bool is_first = true;
    for (bool waits = true; waits; is_first = false) {
      uint64_t progress = workgroup_->mbarriers().progress();
      waits = false;
      for (current_ = 0; current_ < threads_.size(); ++current_) {
        Machine& thread = threads_[current_];
        if (!is_first && thread.state() != MachineState::AtMbarrier) continue;
        MachineState state = thread.RunToEnd();
        if (IsOver(state)) return false;
        waits |= state == MachineState::AtMbarrier;
      }
      if (waits && progress == workgroup_->mbarriers().progress()) workgroup_->SetStuck();
    }
    return true;
  }

  static bool IsOver(MachineState state) {
    return state == MachineState::Trapped || state == MachineState::Broken ||
           state == MachineState::Failed;
  }

  std::unique_ptr<Workgroup> workgroup_;
  std::vector<Machine> threads_;
  size_t current_ = 0;
};

/// The cores of one launch, which run from barrier to barrier.
class LaunchRun {
 public:
  LaunchRun(const Image& image, BoundParams& params, int64_t core_num, int64_t busy_cores,
            const RunOptions& options)
      : image_(image),
        params_(params),
        core_num_(core_num),
        busy_cores_(busy_cores),
        threads_(IsOfThreads(*image.entry->function) ? image.entry->function->workgroup : 1),
        ask_stopped_(options.is_stopped) {
    state_.print = options.print;
    if (options.sanitizers.any() || options.reads) Watched(options);
  }

  std::optional<Trap> InOrder() {
    auto one_by_one = [&](const NextMachine& next) {
      while (std::optional<CoreRun> machine = next()) {
        while (RunCore(*machine, kStepsBetweenLooks) == MachineState::Running && !is_stopped()) {
        }
        if (trap_ || is_stopped()) return;
      }
    };
    return RunPhases([](int64_t i) { return i; }, one_by_one);
  }

  std::optional<Trap> Interleaved(uint64_t seed) {
    std::mt19937_64 random(seed);
    CoreOrder order(busy_cores_, random);
    auto mixed = [&](const NextMachine& next) {
      std::vector<CoreRun> machines;
      while (Refill(machines, next)) {
        size_t chosen = random() % machines.size();
        CoreRun& machine = machines[chosen];
        auto state = RunCore(machine, static_cast<int64_t>(random() % kMostStepsInARow + 1));
        if (state == MachineState::Trapped || is_stopped()) return;
        if (state == MachineState::Running) continue;
        std::swap(machines[chosen], machines.back());
        machines.pop_back();
      }
    };
    return RunPhases([&](int64_t i) { return order.At(i); }, mixed);
  }

  bool is_stopped() const { return ask_stopped_ && ask_stopped_(); }

  /// Returns which elements of each tensor have been read. The run must have recorded it.
  std::vector<std::vector<bool>> Reads() const {
    std::vector<std::vector<bool>> reads;
    for (const auto& [param, tensor] : params_.tensors)
      reads.push_back(Watch::ReadElements(*tensor.shadow));
    return reads;
  }

 private:
  /// Returns a core that has not reached the next barrier yet, or nothing if all of them have.
  using NextMachine = std::function<std::optional<CoreRun>()>;

  /// Runs all cores from barrier to barrier. `run_all` must run each machine until it reaches the barrier,
  /// ends or traps.
  std::optional<Trap> RunPhases(const std::function<int64_t(int64_t)>& core_at,
                                const std::function<void(const NextMachine&)>& run_all) {
    int64_t started = 0;
    run_all([&]() -> std::optional<CoreRun> {
      if (started == busy_cores_) return std::nullopt;
      CoreFacts facts{core_at(started++), core_num_, nullptr, &state_};
      return CoreRun(image_, facts, params_, threads_);
    });
    while (!trap_ && !is_stopped()) {
      state_.LowerGroupReductions();
      if (at_barrier_.empty()) break;
      std::vector<CoreRun> resumed = std::exchange(at_barrier_, {});
      size_t next = 0;
      run_all([&]() -> std::optional<CoreRun> {
        if (next == resumed.size()) return std::nullopt;
        return std::move(resumed[next++]);
      });
    }
    if (!trap_ && state_.watch && !is_stopped()) trap_ = state_.watch->Unwritten();
    return trap_;
  }

  /// Adds a watch to the launch. `in` tensors need no shadow memory for the sanitizers, because they are only read.
  void Watched(const RunOptions& options) {
    const ir::Function& kernel = *image_.entry->function;
    state_.watch = std::make_unique<Watch>(kernel, options.sanitizers);
    if (options.reads) state_.fallbacks = std::make_unique<FallbackReads>();
    for (auto& [param, tensor] : params_.tensors) {
      const ir::Param& of = kernel.params[param - kernel.dims.size()];
      if (of.direction == ir::Direction::In && !options.reads) continue;
      tensor.shadow = state_.watch->Add(of.value, tensor, of.direction != ir::Direction::Out);
    }
  }

  /// Runs a machine and returns its new state. A machine that reaches a barrier is moved to `at_barrier_`.
  MachineState RunCore(CoreRun& machine, int64_t steps) {
    MachineState state = machine.RunSteps(steps);
    CheckNotBroken(machine.machine(), *image_.entry->function);
    if (state == MachineState::Trapped) trap_ = machine.machine().trap();
    if (state == MachineState::AtBarrier) at_barrier_.push_back(std::move(machine));
    return state;
  }

  static bool Refill(std::vector<CoreRun>& machines, const NextMachine& next) {
    while (machines.size() < kCoresInFlight) {
      std::optional<CoreRun> machine = next();
      if (!machine) break;
      machines.push_back(std::move(*machine));
    }
    return !machines.empty();
  }

  const Image& image_;
  BoundParams& params_;
  int64_t core_num_;
  int64_t busy_cores_;
  int64_t threads_;
  const std::function<bool()> ask_stopped_;
  LaunchState state_;
  std::vector<CoreRun> at_barrier_;
  std::optional<Trap> trap_;
};

}  // namespace

Result<std::optional<Trap>> RunKernel(const ir::Module& module, const ir::Function& kernel,
                                      const KernelArguments& arguments, int64_t core_num,
                                      const RunOptions& options) {
  if (core_num < 1) {
    return Failure{fmt::format("launch of '{}': core_num is {}; a launch runs on 1 core or more",
                               kernel.base_name(), core_num)};
  }
  Result<SizeValues> sizes = BindSizes(kernel, TensorSizes(arguments.tensors), arguments.constants);
  if (!sizes.ok()) return sizes.failure();
  if (std::optional<Trap> broken = FirstBroken(kernel, *sizes)) return broken;
  std::vector<TensorValue> tensors;
  for (const TensorArgument& tensor : arguments.tensors) {
    tensors.push_back({static_cast<std::byte*>(tensor.data), tensor.scalar, tensor.sizes,
                       tensor.strides, TensorId()});
  }
  if (std::optional<Trap> broken = BrokenView(kernel, *sizes, tensors)) return broken;
  Result<BoundParams> params = BindParams(kernel, *sizes, std::move(tensors), arguments.scalars);
  if (!params.ok()) return params.failure();
  auto symbols = [&, of_sizes = sizes->AsSymbols()](Name name) {
    std::optional<int64_t> size = of_sizes(name);
    return !size && name.text() == ir::kCoreNum ? std::optional(core_num) : size;
  };
  if (options.locator)
    return options.locator->RunKernel(module, kernel, symbols, *params, core_num,
                                      options.is_stopped);
  Result<Image> image = Prepare(module, kernel, symbols);
  if (!image.ok()) return image.failure();
  DoingScope doing(fmt::format("interpreting '{}'", kernel.name.text()));
  int64_t busy = BusyCores(kernel, *sizes, core_num);
  LaunchRun run(*image, *params, core_num, busy, options);
  std::optional<Trap> trap = options.seed == 0 ? run.InOrder() : run.Interleaved(options.seed);
  if (options.reads) *options.reads = run.Reads();
  if (!trap && run.is_stopped())
    return Failure{fmt::format("launch of '{}': it was stopped", kernel.base_name())};
  return trap;
}

FnResult RunFn(const ir::Module& module, const ir::Function& fn,
               const std::vector<uint64_t>& arguments) {
  Result<Image> image = Prepare(module, fn, [](Name) { return std::nullopt; });
  KDL_CHECK(image.ok(), "{}", image.failure().message);
  KDL_CHECK(arguments.size() == fn.params.size(), "{} arguments for '{}'", arguments.size(),
            fn.name.text());
  Machine machine(*image, {});
  for (size_t i = 0; i < arguments.size(); ++i)
    machine.BindScalar(fn.dims.size() + i, arguments[i]);
  machine.RunToEnd();
  CheckNotBroken(machine, fn);
  if (machine.state() == MachineState::Trapped) return {0, machine.trap()};
  return {machine.results()[0], std::nullopt};
}

namespace {

/// Checks that no tensor that a program writes overlaps the argument of another parameter. This is required
/// because the order of the program's launches is derived from the names of tensors.
Status CheckApart(const ir::Function& program, const std::vector<ProgramTensor>& tensors,
                  ProgramHost& host) {
  std::vector<const ir::Param*> params;
  for (const ir::Param& param : program.params) {
    if (param.value->type()->kind == ir::TypeKind::Tensor) params.push_back(&param);
  }
  for (size_t p = 0; p < params.size(); ++p) {
    if (params[p]->direction == ir::Direction::In) continue;
    for (size_t q = 0; q < params.size(); ++q) {
      Result<bool> overlap = host.Overlap(tensors[p].id, tensors[q].id);
      if (!overlap.ok()) return overlap.failure();
      if (!*overlap) continue;
      return Failure{fmt::format("parameter '{}' of '{}' is written, but {}",
                                 params[p]->value->name().text(), program.base_name(),
                                 p == q ? "has elements that share memory"
                                        : fmt::format("shares memory with '{}'",
                                                      params[q]->value->name().text())),
                     FailureKind::User};
    }
  }
  return {};
}

Failure NotEnded(const Machine& machine, const ir::Function& program, int64_t steps) {
  const ir::Op* loop = machine.OutermostLoop();
  return {fmt::format("{}: error: {} has not ended after {} operations",
                      ToString(loop ? loop->loc() : program.loc),
                      loop ? "this loop" : "this program", steps)};
}

}  // namespace

Status RunProgram(const ir::Module& module, const ir::Function& program,
                  const ProgramArguments& arguments, ProgramHost& host, int64_t most_steps) {
  Result<SizeValues> sizes =
      BindSizes(program, TensorSizes(arguments.tensors), arguments.constants);
  if (!sizes.ok()) return sizes.failure();
  std::vector<TensorValue> tensors;
  for (const ProgramTensor& tensor : arguments.tensors) {
    tensors.push_back({nullptr, tensor.scalar, tensor.sizes, {}, tensor.id});
  }
  Result<BoundParams> params = BindParams(program, *sizes, std::move(tensors), arguments.scalars);
  if (!params.ok()) return params.failure();
  if (Status apart = CheckApart(program, arguments.tensors, host); !apart.ok()) return apart;
  Result<Image> image = Prepare(module, program, sizes->AsSymbols());
  if (!image.ok()) return image.failure();
  DoingScope doing(fmt::format("running program '{}'", program.name.text()));
  Machine machine(*image, {0, 1, &host});
  params->ApplyTo(machine);
  machine.RunSteps(most_steps);
  CheckNotBroken(machine, program);
  if (machine.state() == MachineState::Running) return NotEnded(machine, program, most_steps);
  if (machine.state() == MachineState::Trapped) return Failure{ToString(machine.trap())};
  if (machine.state() == MachineState::Failed) return machine.failure();
  return {};
}

}  // namespace kdl::interp
