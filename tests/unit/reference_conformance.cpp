// Runs the conformance suite on the reference device. Its kernels are KIR, with the interface of the native
// kernels.
#include <fmt/format.h>

#include <deque>
#include <vector>

#include "conformance/conformance.h"
#include "conformance/kernels.h"
#include "support/check.h"
#include "tools/loading/reference_device.h"

namespace kdl::conformance {

namespace {

constexpr std::string_view kSaxpy = R"(
kernel @saxpy.{0} types(T = {0}) dims(%N) (%a: {0}, %x: tensor<{0},[N]> in, %y: tensor<{0},[N]> inout) {{
  %id = core_id : i64
  %num = core_num : i64
  loop %i in %id .. %N step %num {{
    %v = load %x[%i] {{bounds = proven}} : {0}
    %w = load %y[%i] {{bounds = proven}} : {0}
    %r = fma %a, %v, %w : {0}
    store %r to %y[%i] {{bounds = proven}}
    yield
  }}
  return
}}
)";

constexpr std::string_view kKernels = R"(
kernel @spin dims(%N) (%y: tensor<i64,[N]> inout) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %most = const 4611686018427387904 : i64
  loop %i in %0 .. %most step %1 {
    yield
  }
  return
}

kernel @mark dims(%N) (%y: tensor<i64,[N]> inout) {
  %id = core_id : i64
  %num = core_num : i64
  %in = lt %id, %N : bool
  if %in {
    %v = load %y[%id] {bounds = proven} : i64
    %w = add %v, %num : i64
    store %w to %y[%id] {bounds = proven}
    yield
  } else {
    yield
  }
  return
}

kernel @row_sums dims(%R, %C) (%x: tensor<f32,[R,C]> in, %y: tensor<f32,[R]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %zero = const 0.0 : f32
  %id = core_id : i64
  %num = core_num : i64
  loop %r in %id .. %R step %num {
    %sum = loop %c in %0 .. %C step %1 carry(%s = %zero) {
      %v = load %x[%r, %c] {bounds = proven} : f32
      %t = add %s, %v : f32
      yield %t
    } : f32
    store %sum to %y[%r] {bounds = proven}
    yield
  }
  return
}

kernel @matmul dims(%M, %K, %N) (%a: tensor<f32,[M,K]> in, %b: tensor<f32,[K,N]> in, %c: tensor<f32,[M,N]> out) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %zero = const 0.0 : f32
  %id = core_id : i64
  %num = core_num : i64
  loop %i in %id .. %M step %num {
    loop %j in %0 .. %N step %1 {
      %sum = loop %k in %0 .. %K step %1 carry(%s = %zero) {
        %x = load %a[%i, %k] {bounds = proven} : f32
        %y = load %b[%k, %j] {bounds = proven} : f32
        %t = fma %x, %y, %s : f32
        yield %t
      } : f32
      store %sum to %c[%i, %j] {bounds = proven}
      yield
    }
    yield
  }
  return
}

kernel @quads dims(%N) (%x: tensor<i32,[N,4]> in, %y: tensor<i32,[N]> out) {
  %id = core_id : i64
  %num = core_num : i64
  loop %n in %id .. %N step %num {
    %a = load %x[%n, 0] {bounds = proven} : i32
    %b = load %x[%n, 1] {bounds = proven} : i32
    %c = load %x[%n, 2] {bounds = proven} : i32
    %d = load %x[%n, 3] {bounds = proven} : i32
    %ab = add %a, %b : i32
    %abc = add %ab, %c : i32
    %sum = add %abc, %d : i32
    store %sum to %y[%n] {bounds = proven}
    yield
  }
  return
}

kernel @halve dims(%C, %G) (%x: tensor<i32,[C]> in, %y: tensor<i32,[G]> out) {
  %1 = const 1 : i64
  %id = core_id : i64
  %num = core_num : i64
  loop %g in %id .. %G step %num {
    %g2 = add %g, %g : i64
    %next = add %g2, %1 : i64
    %a = load %x[%g2] {bounds = proven} : i32
    %b = load %x[%next] {bounds = proven} : i32
    %sum = add %a, %b : i32
    store %sum to %y[%g] {bounds = proven}
    yield
  }
  return
}

kernel @dynamic_counter dims(%N) (%y: tensor<i64,[N]> inout) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  loop %n in %0 .. %N step %1 {dynamic_counter = 0} {
    %v = load %y[%n] {bounds = proven} : i64
    %w = add %v, %1 : i64
    store %w to %y[%n] {bounds = proven}
    yield
  }
  return
}

kernel @trap_at dims(%N) (%at: i64, %y: tensor<i32,[N]> inout) {
  %one = const 1 : i32
  %id = core_id : i64
  %num = core_num : i64
  loop %i in %id .. %N step %num {
    %here = eq %i, %at : bool
    if %here {
      %far = add %i, %N : i64
      check %far in %N {dimension = 0, text = "y[i + N]"} loc("suite.kdl":12:9+8)
      yield
    } else {
      yield
    }
    %v = load %y[%i] {bounds = proven} : i32
    %w = add %v, %one : i32
    store %w to %y[%i] {bounds = proven}
    yield
  }
  return
}
)";

/// Returns the kernel many(x0 … x69, s0 … s9, y).
std::string ManyText() {
  std::string params;
  std::string body;
  for (int t = 0; t < 70; ++t) {
    params += fmt::format("%x{}: tensor<i32,[N]> in, ", t);
    body += fmt::format(
        "    %v{0} = load %x{0}[%n] {{bounds = proven}} : i32\n    %w{0} = cast %v{0} : i64\n"
        "    %u{1} = add %u{0}, %w{0} : i64\n",
        t, t + 1);
  }
  for (int s = 0; s < 10; ++s) {
    params += fmt::format("%s{}: i64, ", s);
    body += fmt::format("    %u{} = add %u{}, %s{} : i64\n", 71 + s, 70 + s, s);
  }
  return fmt::format(
      "kernel @many dims(%N) ({}%y: tensor<i64,[N]> out) {{\n  %u0 = const 0 : i64\n"
      "  %id = core_id : i64\n  %num = core_num : i64\n  loop %n in %id .. %N step %num {{\n"
      "{}    store %u80 to %y[%n] {{bounds = proven}}\n    yield\n  }}\n  return\n}}\n",
      params, body);
}

/// The native image, with KIR instead of machine code.
struct ReferenceImage {
  std::string text = fmt::format("module \"{}\"\n", kImages[0]->module) +
                     fmt::format(kSaxpy, "f32") + fmt::format(kSaxpy, "f64") +
                     std::string(kKernels) + ManyText();
  std::deque<std::vector<kdl_variant>> variants;
  std::vector<kdl_kernel> kernels;
  kdl_image image = *kImages[0];
  const kdl_image* images[2] = {&image, nullptr};

  ReferenceImage() {
    for (int32_t k = 0; k < image.kernel_count; ++k) {
      kdl_kernel kernel = image.kernels[k];
      auto& own = variants.emplace_back(kernel.variants, kernel.variants + kernel.variant_count);
      for (kdl_variant& variant : own) variant.entry = nullptr;
      kernel.variants = own.data();
      kernels.push_back(kernel);
    }
    image.kind = "reference";
    image.arch = "";
    image.kernels = kernels.data();
    image.payload = text.data();
    image.payload_bytes = static_cast<int64_t>(text.size());
  }
};

void Prepare(Context& context) {
  static const ReferenceImage kReference;
  KDL_CHECK(tools::AddReferenceDevice(context.get()).ok(), "no reference device");
  context.Register(kImages);
  context.Register(kReference.images);
}

}  // namespace

const std::vector<DeviceUnderTest>& DevicesUnderTest() {
  static const std::vector<std::pair<std::string, std::string>> kUnsupported = {
      {"BarriersHoldAllCores", "KIR has no barrier"},
      {"TrapsEndWaitingAtBarriers", "KIR has no barrier"},
      {"LaunchesFromSeveralThreads", "native code only: takes scratch"},
      {"ScratchBelongsToOneCoreAtATime",
       "native code only: the interpreter has buffers of its own"},
      {"WorkspaceIsAllocatedOrGiven", "native code only: KIR has no workspace"},
      {"SlicesOfTheWorkspaceAreApart", "native code only: KIR has no workspace"},
      {"SlicesOnlyForBusyCores", "native code only: KIR has no workspace"},
      {"BoundCallsHaveTheirWorkspaces", "native code only: KIR has no workspace"},
      {"CallsHaveTheirWorkspaces", "native code only: KIR has no workspace"},
      {"Print", "KIR has no print"},
      {"LostPrintsFail", "KIR has no print"},
      {"ReceiversOfPrintsMayLaunchPrints", "KIR has no print"},
      {"PrintsOfSeveralThreadsArriveOneAtATime", "KIR has no print"},
      {"ScalarsOfEveryKind", "KIR has no bits of two-byte floats"},
  };
  static const std::vector<DeviceUnderTest> kDevices = {
      {"reference", "reference?seed=2", Prepare, kUnsupported},
      {"reference?cores=3&seed=0", "reference", Prepare, kUnsupported},
  };
  return kDevices;
}

}  // namespace kdl::conformance
