// Traces: rows, spans, bytes.
#include <doctest/doctest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "kdl/runtime.hpp"

namespace kdl {
namespace {

TEST_CASE("trace: a row a queue and a row a core, with what they ran") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("kdl_trace_" + std::to_string(getpid()) + ".json");
  setenv("KDL_TRACE", path.c_str(), 1);
  {
    const Context context;
    const Device host = context.Select("host?threads=2");
    const Device debug = context.Select("debug[1]");
    const Tensor x = context.Allocate(host, f32, {1000}, "x");
    const Tensor y = context.Allocate(debug, f32, {1000}, "y");
    const Event filled = host.queue(3).Fill(x, 1.0f);
    const Timeline gate = context.MakeTimeline();
    const Event opened = host.queue(4).Fill(x, 2.0f, {filled, gate.At(1)});
    const Event copied = debug.queue().Copy(y, x, "layer reads \"x\"", {opened});
    gate.Signal(1);
    copied.Wait();
  }
  unsetenv("KDL_TRACE");
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  std::filesystem::remove(path);
  const auto has = [&](const char* part) { return text.str().find(part) != std::string::npos; };
  CHECK(text.str().front() == '[');
  CHECK(has("\"args\":{\"name\":\"host?threads=2 queue 3\"}"));
  CHECK(has("\"args\":{\"name\":\"debug[1] queue 0\"}"));
  CHECK(has("\"name\":\"fill of 'x' on host?threads=2\""));
  CHECK(has("\"name\":\"copy 'layer reads \\\"x\\\"'\""));
  CHECK(has("\"name\":\"waits for the caller\""));
  CHECK(has("\"name\":\"waits for host?threads=2 queue 4\""));
  CHECK(has("\"args\":{\"bytes\":4000}"));
  CHECK(text.str().ends_with("\n]\n"));
}

}  // namespace
}  // namespace kdl
