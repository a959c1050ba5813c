// Benchmarks the cost of starting a kernel, compared with that of starting an OpenMP region.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "array.h"
#include "elements.h"
#include "kdl/kernel_abi.h"
#include "share.h"

namespace bench {

namespace {

constexpr std::int64_t kBlock = 8192;  // the block size of the kernels `nothing` and `busy`
constexpr std::int64_t kLittle = 64;   // too few elements to use a second thread

Array<float> Ones(std::int64_t size) {
  Array<float> x({size});
  std::fill(x.data(), x.data() + size, 1.0f);
  return x;
}

void EmptyRegion(int threads) {
  Share(threads, threads, 1, [](std::int64_t, std::int64_t) { asm volatile(""); });
}

Task Beside(std::function<void()> ours, std::vector<Side> peers) {
  return {std::move(ours), std::move(peers), [] { return Verdict(); }};
}

// A C function that does nothing and is opaque to the compiler. Its time is the minimum cost of any call.
[[gnu::noinline]] void EmptyFunction(std::int64_t size, const float* x) {
  asm volatile("" : : "r"(size), "r"(x) : "memory");
}

Side PlainFunction(const Array<float>& x) {
  return {"function", [x, call = &EmptyFunction] { call(x.count(), x.data()); }};
}

Side EmptyOpenMp(const Host& host) {
  return {"openmp", [threads = host.threads] { EmptyRegion(threads); }};
}

// Measures the kernel without the runtime: calls its entry once, as the runtime does.
class Entry {
 public:
  Entry(std::string_view name, std::size_t tensors, const kdl::Tensor& x, std::uint64_t features)
      : tensors_(tensors, x.array().view), size_(tensors_[0].size[0]) {
    for (const kdl_image* const* image = kdl_images_elements; *image != nullptr; ++image) {
      for (std::int32_t k = 0; k < (*image)->kernel_count; ++k) {
        const kdl_kernel& kernel = (*image)->kernels[k];
        if (kernel.name == name) entry_ = Best(kernel, features);
      }
    }
    if (entry_ == nullptr) throw std::runtime_error("a kernel is missing");
  }

  void Call() {
    kdl_launch launch = {sizeof launch, KDL_ABI_VERSION, 0, 0, nullptr, nullptr, nullptr, nullptr};
    const kdl_args args = {sizeof args, KDL_ABI_VERSION, &size_, tensors_.data(), nullptr};
    kdl_core core = {};
    core.size = sizeof core;
    core.version = KDL_ABI_VERSION;
    core.core_num = 1;
    core.launch = &launch;
    entry_(&args, &core);
  }

 private:
  // Returns the variant that the runtime would select: the one with the most processor features.
  static kdl_kernel_fn Best(const kdl_kernel& kernel, std::uint64_t features) {
    const kdl_variant* best = nullptr;
    for (std::int32_t v = 0; v < kernel.variant_count; ++v) {
      const kdl_variant& one = kernel.variants[v];
      if ((one.features & ~features) != 0) continue;
      if (best == nullptr || std::popcount(one.features) > std::popcount(best->features))
        best = &one;
    }
    return best == nullptr ? nullptr : best->entry;
  }

  std::vector<kdl_tensor> tensors_;
  std::int64_t size_;
  kdl_kernel_fn entry_ = nullptr;
};

struct CloseKernels {
  void operator()(elements_kernels* kernels) const { elements_close(kernels); }
};

std::shared_ptr<const elements_kernels> OpenKernels(const Host& host) {
  elements_kernels* kernels = nullptr;
  kdl::Check(elements_open(host.context.get(), host.device.uri().c_str(), &kernels));
  return {kernels, CloseKernels()};
}

// Returns the peers for calls: the kernel without the runtime, the minimum cost of any call, and an OpenMP
// region.
std::vector<Side> PeersOfCalls(const Host& host, const Array<float>& x,
                               std::string_view name = "nothing", std::size_t tensors = 1) {
  const Operand t = x.On(host);
  const kdl::Tensor& tensor = t;
  return {{"kernel", [t, entry = Entry(name, tensors, tensor,
                                       host.device.facts().features)]() mutable { entry.Call(); }},
          PlainFunction(x),
          EmptyOpenMp(host)};
}

// Runs the kernel with C++20 tensors, on the calling thread. For few elements, this thread does all the work;
// for many, the thread pool helps.
Task MakeRun(const Host& host, std::int64_t size) {
  const Array<float> x = Ones(size);
  return Beside(
      [queue = host.queue, t = x.On(host)] { elements::nothing(queue, KDL_CORES_AUTO, t); },
      PeersOfCalls(host, x));
}

// Enqueues a launch and waits for it.
Task MakeLaunch(const Host& host) {
  const Array<float> x = Ones(kBlock * host.threads);
  return Beside([queue = host.queue,
                 t = x.On(host)] { elements::nothing_launch(queue, KDL_CORES_AUTO, t).Wait(); },
                PeersOfCalls(host, x));
}

// Calls a program with one launch.
Task MakeProgram(const Host& host) {
  const Array<float> x = Ones(kLittle);
  return Beside(
      [&context = host.context, t = x.On(host)] { elements::nothing_of_a_program(context, t); },
      PeersOfCalls(host, x));
}

// Calls the kernel through the class for C++17, with pointers as arguments.
Task MakeKernels(const Host& host) {
  const Array<float> x = Ones(kLittle);
  auto kernels = std::make_shared<elements::Kernels>();
  kdl::Check(kernels->Open(host.device.uri().c_str(), host.context.get()).Release());
  return Beside([kernels, x] { kdl::Check(kernels->nothing(x.count(), x.data()).Release()); },
                PeersOfCalls(host, x));
}

// Calls the kernel through the C header, with pointers as arguments.
Task MakeCall(const Host& host) {
  const Array<float> x = Ones(kLittle);
  return Beside([kernels = OpenKernels(host),
                 x] { kdl::Check(elements_nothing(kernels.get(), x.count(), x.data())); },
                PeersOfCalls(host, x));
}

// Like MakeCall, but with five tensors.
Task MakeCallOfFive(const Host& host) {
  const Array<float> x = Ones(kLittle);
  const Array<float> y = Ones(kLittle);
  return Beside(
      [kernels = OpenKernels(host), x, y] {
        const float* in = x.data();
        kdl::Check(elements_nothing_of_five(kernels.get(), x.count(), in, in, in, in, y.data()));
      },
      PeersOfCalls(host, x, "nothing_of_five", 5));
}

// The same call, with arguments that are bound once.
Task MakeBoundCallOfFive(const Host& host) {
  const Array<float> x = Ones(kLittle);
  const Array<float> y = Ones(kLittle);
  const std::shared_ptr<const elements_kernels> kernels = OpenKernels(host);
  const float* in = x.data();
  elements_nothing_of_five_bound made = {nullptr};
  kdl::Check(
      elements_nothing_of_five_bind(kernels.get(), x.count(), in, in, in, in, y.data(), &made));
  const std::shared_ptr<elements_nothing_of_five_bound> bound(
      new elements_nothing_of_five_bound(made), [](elements_nothing_of_five_bound* of_five) {
        elements_nothing_of_five_unbind(of_five);
        delete of_five;
      });
  return Beside([kernels, x, y, bound] { kdl::Check(elements_nothing_of_five_call(bound.get())); },
                PeersOfCalls(host, x, "nothing_of_five", 5));
}

// Like MakeCall, but enqueues the call and waits for it.
Task MakeCallAsync(const Host& host) {
  const Array<float> x = Ones(kLittle);
  return Beside(
      [kernels = OpenKernels(host), x] {
        kdl_event* done = nullptr;
        kdl::Check(elements_nothing_async(kernels.get(), x.count(), x.data(), nullptr, 0, &done));
        kdl::Event(done).Wait();
      },
      PeersOfCalls(host, x));
}

// Returns how many iterations of `work` take this long, at least one.
template <class Work>
std::int64_t TurnsOf(double wanted, Work work) {
  using Clock = std::chrono::steady_clock;
  std::int64_t turns = 64;
  for (;;) {
    double seconds = 1;
    for (int i = 0; i < 5; ++i) {  // takes the minimum, because other load only adds time
      const Clock::time_point begin = Clock::now();
      work(turns);
      seconds = std::min(seconds, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    if (seconds > 1e-3) return std::max<std::int64_t>(1, std::llround(turns * wanted / seconds));
    turns *= 2;
  }
}

// Alternates between kernels and OpenMP regions of a millisecond each. The peer runs the same number of
// kernels and regions, but grouped by kind.
Task MakeAlternating(const Host& host) {
  const Array<float> x = Ones(kBlock * host.threads);
  const Array<float> y = Ones(kBlock * host.threads);
  const auto kernel = [queue = host.queue, t = x.On(host)](std::int64_t turns) {
    elements::busy(queue, KDL_CORES_AUTO, t, turns);
  };
  const auto region = [threads = host.threads, y](std::int64_t turns) {
    Share(threads, y.count(), kBlock, [&](std::int64_t first, std::int64_t count) {
      float* at = y.data() + first;
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        for (std::int64_t i = 0; i < count; ++i) at[i] = at[i] * 0.5f + 1.0f;
      }
    });
  };
  const auto run = [kernel, turns = TurnsOf(1e-3, kernel)] { kernel(turns); };
  const auto share = [region, turns = TurnsOf(1e-3, region)] { region(turns); };
  const auto by_turns = [run, share] {
    run();
    share();
  };
  const auto alone = [run, share] {
    for (int i = 0; i < 4; ++i) run();
    for (int i = 0; i < 4; ++i) share();
  };
  return Beside(
      [by_turns] {
        for (int i = 0; i < 4; ++i) by_turns();
      },
      {{"one-by-one", alone}});
}

// Splits work that takes one thread this long over all threads. The peers are one thread with its even share
// of the work, and OpenMP.
Task MakeSplit(const Host& host, double seconds) {
  const Array<float> x = Ones(kBlock * host.threads);
  const Array<float> share = Ones(kBlock);
  const Array<float> y = Ones(kBlock * host.threads);
  const auto busy = [queue = host.queue](const kdl::Tensor& t, std::int64_t turns) {
    elements::busy(queue, KDL_CORES_AUTO, t, turns);
  };
  const std::int64_t turns = TurnsOf(
      seconds / host.threads, [busy, t = share.On(host)](std::int64_t some) { busy(t, some); });
  const auto region = [threads = host.threads, y, turns] {
    Share(threads, y.count(), kBlock, [&](std::int64_t first, std::int64_t count) {
      float* at = y.data() + first;
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        for (std::int64_t i = 0; i < count; ++i) at[i] = at[i] * 0.5f + 1.0f;
      }
    });
  };
  return Beside(
      [busy, turns, t = x.On(host)] { busy(t, turns); },
      {{"even share", [busy, turns, t = share.On(host)] { busy(t, turns); }}, {"openmp", region}});
}

}  // namespace

std::vector<Case> LaunchCases() {
  return {
      {"launch", "", "", {}, MakeLaunch},
      {"launch", "", "run", {}, [](const Host& host) { return MakeRun(host, kLittle); }},
      {"launch",
       "",
       "run on the pool",
       {},
       [](const Host& host) { return MakeRun(host, kBlock * host.threads); }},
      {"launch", "", "call in C", {}, MakeCall},
      {"launch", "", "call in C, five tensors", {}, MakeCallOfFive},
      {"launch", "", "bound call in C, five tensors", {}, MakeBoundCallOfFive},
      {"launch", "", "call in C async", {}, MakeCallAsync},
      {"launch", "", "call in C++17", {}, MakeKernels},
      {"launch", "", "program", {}, MakeProgram},
      {"launch", "", "alternating", {}, MakeAlternating},
      {"launch", "", "20 us split", {}, [](const Host& host) { return MakeSplit(host, 20e-6); }},
      {"launch", "", "200 us split", {}, [](const Host& host) { return MakeSplit(host, 200e-6); }},
  };
}

}  // namespace bench
