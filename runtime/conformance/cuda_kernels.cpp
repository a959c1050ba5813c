#include "conformance/cuda_kernels.h"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "conformance/fake_cuda.h"
#include "conformance/team_image.h"

namespace kdl::conformance {

namespace {

template <int count>
struct Numbers {
  long at[count];
};

// What each kernel begins with here: the launch's numbers, as they are, and the block.
#define KERNEL(NAME, NUMBERS, ...)                                                      \
  void NAME(const Numbers<NUMBERS>& numbers, long block, [[maybe_unused]] char* memory, \
            [[maybe_unused]] char* shared, [[maybe_unused]] long* record,               \
            [[maybe_unused]] long* prints, __VA_ARGS__)
#define BEGIN const long* const launch = numbers.at

#include "conformance/cuda_kernels.inc"

template <class T>
T PointerAt(char* const* pointers, std::size_t i) {
  return reinterpret_cast<T>(pointers[i]);
}

template <auto kernel>
struct Here;
template <int count, class... Pointers, void (*kernel)(const Numbers<count>&, long, Pointers...)>
struct Here<kernel> {
  template <std::size_t... i>
  static void Call(const long* numbers, char* const* pointers, long block,
                   std::index_sequence<i...>) {
    kernel(*reinterpret_cast<const Numbers<count>*>(numbers), block,
           PointerAt<Pointers>(pointers, i)...);
  }
  static void Run(const long* numbers, char* const* pointers, long block) {
    Call(numbers, pointers, block, std::index_sequence_for<Pointers...>());
  }
  static void Register(const char* name) {
    fake_cuda_kernel(name, count, sizeof...(Pointers), Run);
  }
};

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

const kdl_image* const* CudaImages() {
  static const TeamImage kImage("cuda", TextOf(KDL_CUDA_KERNELS));
  static const kdl_image* const kAll[] = {&kImage.image, nullptr};
  return kAll;
}

void RunCudaKernelsHere() {
#define REGISTER(NAME) Here<NAME>::Register(#NAME)
  REGISTER(saxpy_f32);
  REGISTER(saxpy_f64);
  REGISTER(mark);
  REGISTER(row_sums);
  REGISTER(matmul);
  REGISTER(quads);
  REGISTER(halve);
  REGISTER(scalars);
  REGISTER(trap_at);
  REGISTER(exchange);
  REGISTER(endless);
  REGISTER(claim);
  REGISTER(scratch);
  REGISTER(print);
  REGISTER(many);
#undef REGISTER
}

}  // namespace kdl::conformance
