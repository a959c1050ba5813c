// What ran when, as a file for Chrome's or Perfetto's viewer: a row a queue, a row a core.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace kdl::runtime {

// A point in time for spans, in nanoseconds.
std::int64_t TraceNow();

// Of one context; written when it goes.
class Trace {
 public:
  // Null where the environment names no file in KDL_TRACE.
  static std::unique_ptr<Trace> FromEnvironment();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  struct Span {
    std::string row;   // "host queue 0", "debug[1] queue 0 (emulated)", "host core 3"
    std::string name;  // "launch of 'matmul'"
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t bytes = 0;  // that it moved
  };
  // From any thread.
  void Add(Span span);

 private:
  explicit Trace(std::string path) : path_(std::move(path)) {}
  void Write(std::ostream& file) const;

  const std::string path_;
  std::mutex mutex_;  // guards the rest
  std::vector<Span> spans_;
};

}  // namespace kdl::runtime
