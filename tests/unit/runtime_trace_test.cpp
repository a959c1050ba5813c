// Tests the rows, spans and byte counts of traces.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "kdl/kernel_abi.h"
#include "kdl/runtime.hpp"

namespace kdl {
namespace {

// While this object exists, contexts write traces.
class Recording {
 public:
  Recording() { setenv("KDL_TRACE", path_.c_str(), 1); }
  ~Recording() {
    unsetenv("KDL_TRACE");
    std::filesystem::remove(path_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Returns the last trace.
  std::string Text() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("kdl_trace_" + std::to_string(getpid()) + ".json");
};

TEST_CASE("trace: a row for each queue and for each core, with what they ran") {
  const Recording recording;
  {
    const Context context;
    const Device host = context.Select("host?threads=2");
    const Device debug = context.Select("debug[1]");
    const Tensor x = context.Allocate(host, f32, {1000}, "x");
    const Tensor y = context.Allocate(debug, f32, {1000}, "y");
    const Event filled = host.queue(3).Fill(x, 1.0f);
    const Timeline mbarrier = context.MakeTimeline();
    const Event opened = host.queue(4).Fill(x, 2.0f, {filled, mbarrier.At(1)});
    const Event copied = debug.queue().Copy(y, x, "layer reads \"x\"", {opened});
    mbarrier.Signal(1);
    copied.Wait();
  }
  const std::string text = recording.Text();
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  CHECK(text.front() == '[');
  CHECK(has("\"args\":{\"name\":\"host?threads=2 queue 3\"}"));
  CHECK(has("\"args\":{\"name\":\"debug[1] queue 0 (emulated)\"}"));
  CHECK(has("\"name\":\"fill of 'x' on host?threads=2\""));
  CHECK(has("\"name\":\"copy 'layer reads \\\"x\\\"'\""));
  CHECK(has("\"name\":\"waits for the caller\""));
  CHECK(has("\"name\":\"waits for host?threads=2 queue 4\""));
  CHECK(has("\"args\":{\"bytes\":4000}"));
  CHECK(text.ends_with("\n]\n"));
}

// Returns what a context prints when it writes its trace to the path.
std::string SaidOfTrace(const std::filesystem::path& path) {
  const std::filesystem::path said =
      std::filesystem::temp_directory_path() / ("kdl_trace_said_" + std::to_string(getpid()));
  setenv("KDL_TRACE", path.c_str(), 1);
  const int own = dup(STDERR_FILENO);
  REQUIRE(std::freopen(said.c_str(), "w", stderr) != nullptr);
  Context().Select("host");
  std::fflush(stderr);
  dup2(own, STDERR_FILENO);
  close(own);
  unsetenv("KDL_TRACE");
  std::stringstream text;
  text << std::ifstream(said).rdbuf();
  std::filesystem::remove(said);
  return text.str();
}

TEST_CASE("trace: a full disk is reported") {
  CHECK(SaidOfTrace("/dev/full") ==
        "kdl: cannot write the trace to '/dev/full': No space left on device\n");
}

TEST_CASE("trace: a named pipe gets the trace, unless nobody reads from it") {
  const std::filesystem::path pipe =
      std::filesystem::temp_directory_path() / ("kdl_trace_pipe_" + std::to_string(getpid()));
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(SaidOfTrace(pipe) ==
        "kdl: cannot write the trace to '" + pipe.string() + "': No such device or address\n");
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  CHECK(SaidOfTrace(pipe) == "");
  char first = 0;
  CHECK(read(reader, &first, 1) == 1);
  CHECK(first == '[');
  close(reader);
  std::filesystem::remove(pipe);
}

// A kernel whose cores wait for each other once.
std::int32_t Meet(const kdl_args*, kdl_core* core) {
  auto& has_met = *static_cast<std::int64_t*>(core->frame);
  return has_met++ == 0 ? KDL_BARRIER : KDL_DONE;
}

// A kernel with two stages, each of which waits once for the other. It reports the runs of its stages as
// compiled code does.
std::int32_t LowerStagesToStateMachine(const kdl_args*, kdl_core* core) {
  if (core->launch->turn == nullptr) return KDL_TRAPPED;
  for (const std::int32_t state : {1, static_cast<std::int32_t>(KDL_DONE)}) {
    for (const std::int32_t stage : {0, 1})
      core->launch->turn(core, stage, state == 1 ? 1 + stage : state);
  }
  return KDL_DONE;
}

constexpr kdl_location kLocations[] = {
    {"p.kdl", "'push' waits for a free slot of 'q'", 1, 1, KDL_TRAP_STUCK, -1, 0, 0},
    {"p.kdl", "'pop' waits for a tile of 'q'", 2, 1, KDL_TRAP_STUCK, -1, 0, 0}};
constexpr kdl_variant kMeetVariant = [] {
  kdl_variant variant = {};
  variant.entry = Meet;
  variant.symbol = "meet";
  variant.constants = "";
  variant.frame_bytes = sizeof(std::int64_t);
  variant.flags = KDL_VARIANT_SYNC;
  return variant;
}();
constexpr kdl_variant kTurnsVariant = [] {
  kdl_variant variant = {};
  variant.entry = LowerStagesToStateMachine;
  variant.symbol = "turns";
  variant.constants = "";
  variant.locations = kLocations;
  variant.location_count = 2;
  return variant;
}();
constexpr kdl_kernel kTracedKernels[] = {{"meet", &kMeetVariant, 1, 0},
                                         {"turns", &kTurnsVariant, 1, 0}};

const kdl_image kTracedImage = {sizeof(kdl_image),
                                KDL_ABI_VERSION,
                                KDL_ABI_HASH,
                                "waits",
                                "the test",
                                "host",
                                "",
                                kTracedKernels,
                                nullptr,
                                0,
                                2,
                                0};
const kdl_image* const kTracedImages[] = {&kTracedImage, nullptr};

TEST_CASE("trace: waits of cores at a sync, and of stages at pipes") {
  const Recording recording;
  for (const char* spec : {"host?threads=1", "debug"}) {
    {
      Context context;
      const Device device = context.Select(spec);
      context.Register(kTracedImages);
      device.queue().Run("meet", 2, {});
      device.queue().Run("turns", 1, {});
    }
    const std::string text = recording.Text();
    const std::string row = "\"args\":{\"name\":\"" + std::string(spec) + " core 0";
    CHECK(text.find(row + "\"}") != std::string::npos);
    CHECK(text.find("\"name\":\"waits for the others at a sync\"") != std::string::npos);
    CHECK(text.find(row + " stage 0\"}") != std::string::npos);
    CHECK(text.find(row + " stage 1\"}") != std::string::npos);
    CHECK(text.find("\"name\":\"'push' waits for a free slot of 'q'\"") != std::string::npos);
    CHECK(text.find("\"name\":\"'pop' waits for a tile of 'q'\"") != std::string::npos);
  }
}

}  // namespace
}  // namespace kdl
