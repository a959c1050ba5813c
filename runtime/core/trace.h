// Records when each operation and each kernel ran. The result is a file for the trace viewers of Chrome and
// Perfetto, with a row for each queue and each core.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kdl::runtime {

// Returns the current time in nanoseconds, for use in spans.
std::int64_t TraceNow();

// The trace of one context. It is written to a file when it is destroyed.
class Trace {
 public:
  // Returns null unless the environment variable KDL_TRACE names a file.
  static std::unique_ptr<Trace> FromEnvironment();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  struct Span {
    std::string row;   // "host queue 0", "debug[1] queue 0 (emulated)", "host core 3"
    std::string name;  // such as "launch of 'matmul'"
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t bytes = 0;  // number of bytes that the operation copied
    std::int64_t core = 0;   // for a block: its core and its number
    std::int64_t block = -1;
  };
  // May be called from any thread.
  void Add(Span span);

 private:
  explicit Trace(std::string path) : path_(std::move(path)) {}
  void Write(std::ostream& file) const;

  const std::string path_;
  std::mutex mutex_;  // guards the members below
  std::vector<Span> spans_;
};

}  // namespace kdl::runtime
