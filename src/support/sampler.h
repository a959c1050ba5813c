#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kdl {

/// Interrupts the threads of this process at regular intervals of their processor time, and records which instructions they
/// execute. Needs no privileges. Only one can exist at a time.
class Sampler {
 public:
  explicit Sampler(int64_t samples_per_second);
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  ~Sampler();

  /// Stops sampling, and returns the addresses of the instructions.
  std::vector<uintptr_t> Stop();

 private:
  bool runs_ = false;
};

/// The loaded file that contains an address.
struct LoadedFile {
  std::string path;
  uintptr_t base = 0;
};
std::optional<LoadedFile> LoadedFileAt(uintptr_t address);

}  // namespace kdl
