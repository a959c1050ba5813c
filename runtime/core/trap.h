// Converts messages from running kernels, that is, traps and prints, to text.
#pragma once

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/print_sink.h"
#include "kdl/device_plugin.h"

namespace kdl::runtime {

// Returns a trap's message, such as "file.kdl:12:9: error: index 64 is outside dimension 0 of size 64 in 'x[i
// + 1]'".
std::string TrapMessage(const kdl_kernel& kernel, const kdl_variant& variant, const kdl_trap& trap);

// Clears a trap. The fields are cleared one by one, because the compiler would clear the whole struct with a
// string instruction, which takes 10 ns.
inline void ClearTrap(kdl_trap* trap) {
  trap->code = 0;
  trap->location = 0;
  trap->index = 0;
  trap->bound = 0;
  std::fill(std::begin(trap->waits), std::end(trap->waits), 0);
}

// The host callbacks for one launch. The object must not be moved while the launch runs.
class LaunchHost {
 public:
  explicit LaunchHost(PrintSink& sink);
  LaunchHost(const LaunchHost&) = delete;
  LaunchHost& operator=(const LaunchHost&) = delete;

  const kdl_host& host() const { return host_; }
  // Sets the variant, which determines the locations of prints. Call this before the launch runs.
  void SetVariant(const kdl_variant& variant) { variant_ = &variant; }
  bool has_printed() const { return has_printed_.load(std::memory_order_relaxed); }
  // Passes on what the launch has printed, and returns `error`. If `error` is null but some of the output was
  // lost, returns an error that says so. Call this without any lock, after the launch has run. Does not throw.
  Error EndPrints(Error error) {
    return has_printed() || print_error_.load(std::memory_order_relaxed) != 0
               ? PassPrints(std::move(error))
               : std::move(error);
  }
  // Prepares for another launch.
  void ForgetPrints() {
    has_printed_.store(false, std::memory_order_relaxed);
    print_error_.store(0, std::memory_order_relaxed);
  }

 private:
  Error PassPrints(Error error);
  static void Print(kdl_core* core, std::int32_t location, std::int32_t count,
                    const kdl_tensor* values);

  PrintSink& sink_;
  const kdl_variant* variant_ = nullptr;
  kdl_host host_;
  std::atomic<bool> has_printed_ = false;
  std::atomic<int> print_error_ = 0;  // the error of the first print that failed
};

// Returns `format` with each `{}` replaced by the next value. Tensors are printed as nested brackets; long
// tensors are abbreviated to their first elements. `{{` and `}}` are printed as braces.
std::string FormatPrint(std::string_view format, const kdl_tensor* values, std::int32_t count);

}  // namespace kdl::runtime
