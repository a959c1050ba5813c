#include "core/trace.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <locale>
#include <map>
#include <sstream>
#include <utility>

#include "system/files.h"

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
  // This limit is enough for minutes of work. If a service runs for days, only its first spans are kept.
  constexpr std::size_t kMost = 1'000'000;
  const std::lock_guard lock(mutex_);
  if (spans_.size() < kMost) spans_.push_back(std::move(span));
}

// A failure to write the file is only a message, because the program itself has succeeded.
Trace::~Trace() {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << std::setprecision(3);
  Write(text);
  if (!WriteFile(path_, text.view()))
    std::fprintf(stderr, "kdl: cannot write the trace to '%s': %s\n", path_.c_str(),
                 std::strerror(errno));
}

void Trace::Write(std::ostream& file) const {
  std::map<std::string, int> rows;
  std::int64_t start = INT64_MAX;
  for (const Span& span : spans_) {
    rows.try_emplace(span.row, static_cast<int>(rows.size()) + 1);
    start = std::min(start, span.begin_ns);
  }
  const char* separator = "[\n";
  for (const auto& [row, number] : rows) {
    file << std::exchange(separator, ",\n") << R"({"ph":"M","name":"thread_name","pid":1,"tid":)"
         << number << R"(,"args":{"name":)" << Quoted(row) << "}}";
  }
  const auto microseconds = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  for (const Span& span : spans_) {
    file << std::exchange(separator, ",\n") << R"({"ph":"X","name":)" << Quoted(span.name)
         << R"(,"pid":1,"tid":)" << rows[span.row] << R"(,"ts":)"
         << microseconds(span.begin_ns - start) << R"(,"dur":)"
         << microseconds(span.end_ns - span.begin_ns);
    if (span.bytes > 0) file << R"(,"args":{"bytes":)" << span.bytes << "}";
    if (span.block >= 0)
      file << R"(,"args":{"core":)" << span.core << R"(,"block":)" << span.block << "}";
    file << "}";
  }
  file << (spans_.empty() ? "[\n]\n" : "\n]\n");
}

}  // namespace kdl::runtime
