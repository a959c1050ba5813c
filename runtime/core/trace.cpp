#include "core/trace.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

namespace kdl::runtime {

namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + '"';
}

}  // namespace

std::int64_t TraceNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<Trace> Trace::FromEnvironment() {
  const char* path = std::getenv("KDL_TRACE");
  if (path == nullptr || *path == '\0') return nullptr;
  return std::unique_ptr<Trace>(new Trace(path));
}

void Trace::Add(Span span) {
  // Enough for minutes of work; a service that runs for days keeps its first ones.
  constexpr std::size_t kMost = 1'000'000;
  const std::lock_guard lock(mutex_);
  if (spans_.size() < kMost) spans_.push_back(std::move(span));
}

// A file that cannot be written is no reason to fail: the program has ended well.
Trace::~Trace() {
  std::FILE* file = std::fopen(path_.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "kdl: cannot write the trace to '%s'\n", path_.c_str());
    return;
  }
  std::map<std::string, int> rows;
  std::int64_t start = INT64_MAX;
  for (const Span& span : spans_) {
    rows.try_emplace(span.row, static_cast<int>(rows.size()) + 1);
    start = std::min(start, span.begin_ns);
  }
  std::fprintf(file, "[");
  const char* separator = "\n";
  for (const auto& [row, number] : rows) {
    std::fprintf(
        file,
        "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":%s}}",
        separator, number, Quoted(row).c_str());
    separator = ",\n";
  }
  for (const Span& span : spans_) {
    std::fprintf(file, "%s{\"ph\":\"X\",\"name\":%s,\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
                 separator, Quoted(span.name).c_str(), rows[span.row],
                 static_cast<double>(span.begin_ns - start) / 1000,
                 static_cast<double>(span.end_ns - span.begin_ns) / 1000);
    if (span.bytes > 0)
      std::fprintf(file, ",\"args\":{\"bytes\":%lld}", static_cast<long long>(span.bytes));
    std::fprintf(file, "}");
    separator = ",\n";
  }
  std::fprintf(file, "\n]\n");
  std::fclose(file);
}

}  // namespace kdl::runtime
