#include "driver/ranks/mpi.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/io.h"
#include "support/loaded_library.h"
#include "support/output_pipes.h"
#include "support/process.h"

namespace kdl::driver {

namespace {

/// How long processes that have failed wait for the errors of others.
constexpr double kSecondsForFailures = 1;

constexpr const char* kSource =
#include "mpi_shim.inc"
    ;

/// An MPI library: the variables in which its launcher states the rank of a process and their number, and the names of its compiler.
struct Launcher {
  const char* rank;
  const char* count;  ///< null if the launcher does not state it
  std::vector<std::string> compilers;
};

const std::vector<Launcher>& Launchers() {
  static const std::vector<Launcher> kLaunchers = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"mpicc.openmpi", "mpicc"}},
      {"PMI_RANK", "PMI_SIZE", {"mpicc.mpich", "mpicc"}},
      {"PMIX_RANK", nullptr, {"mpicc"}},
  };
  return kLaunchers;
}

const Launcher* OwnLauncher() {
  for (const Launcher& launcher : Launchers()) {
    if (std::getenv(launcher.rank) != nullptr) return &launcher;
  }
  return nullptr;
}

/// Compiles the source to a shared object in the folder. Returns its path.
Result<std::string> CompileShim(const Launcher& launcher, const std::string& folder) {
  std::string compiler = FindProgram(launcher.compilers);
  if (compiler.empty()) {
    return Failure{
        fmt::format(
            "'{}' is not on PATH, but programs with several ranks need it to call MPI; on Debian: "
            "apt install libopenmpi-dev or libmpich-dev",
            launcher.compilers[0]),
        FailureKind::Environment};
  }
  std::string source = folder + "/mpi_shim.c";
  if (Status written = WriteFileWhole(source, kSource); !written.ok()) return written.failure();
  std::string object = folder + "/mpi_shim.so";
  ProcessRequest request;
  request.words = {compiler, "-shared", "-fPIC", "-O1", "-o", object, source};
  Result<ProcessResult> result = RunProcess(request);
  if (!result.ok()) return result.failure();
  if (result->ok()) return object;
  return Failure{fmt::format("'{}' {}: {}", compiler, DescribeEnd(*result, request), result->err),
                 FailureKind::Environment};
}

}  // namespace

struct MpiProcess::Functions {
  int (*open)(int64_t* rank, int64_t* count);
  int (*send)(int64_t to, int64_t tag, const void* data, int64_t bytes);
  int (*receive)(int64_t from, int64_t tag, void* data, int64_t bytes);
  int (*wait_all)();
  int (*shares_failure)(uint64_t errors, double seconds, int* shared);
  int (*close)();
  void (*abort)(int code);
  void (*text)(int code, char* text);
  int (*text_size)();
};

MpiProcess::MpiProcess(std::unique_ptr<Functions> functions)
    : functions_(std::move(functions)), transport_{} {
  transport_.state = this;
  transport_.send = [](void* state, int64_t to, int64_t tag, const void* data, int64_t bytes) {
    const MpiProcess& process = *static_cast<const MpiProcess*>(state);
    return process.ErrorOfCode(process.functions_->send(to, tag, data, bytes), "send");
  };
  transport_.receive = [](void* state, int64_t from, int64_t tag, void* data, int64_t bytes) {
    const MpiProcess& process = *static_cast<const MpiProcess*>(state);
    return process.ErrorOfCode(process.functions_->receive(from, tag, data, bytes), "receive");
  };
  transport_.wait_all = [](void* state) {
    const MpiProcess& process = *static_cast<const MpiProcess*>(state);
    return process.ErrorOfCode(process.functions_->wait_all(), "transfer");
  };
}
MpiProcess::~MpiProcess() = default;

bool MpiProcess::IsLaunched() { return OwnLauncher() != nullptr; }

std::optional<MpiProcess::Launched> MpiProcess::FindLaunched() {
  const Launcher* launcher = OwnLauncher();
  if (!launcher) return std::nullopt;
  auto number = [](const char* variable) -> int64_t {
    const char* text = variable ? std::getenv(variable) : nullptr;
    return text ? std::strtoll(text, nullptr, 10) : 0;
  };
  return Launched{number(launcher->rank), number(launcher->count)};
}

Result<std::unique_ptr<MpiProcess>> MpiProcess::Join() {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.failure();
  Result<std::string> object = CompileShim(*OwnLauncher(), folder->path());
  if (!object.ok()) return object.failure();
  // MPI libraries load plugins that refer to the symbols of the library itself.
  Result<LoadedLibrary> library = LoadedLibrary::Load(*object);
  if (!library.ok()) return library.failure();
  auto functions = std::make_unique<Functions>();
  library->Find(functions->open, "kdl_mpi_open");
  library->Find(functions->send, "kdl_mpi_send");
  library->Find(functions->receive, "kdl_mpi_receive");
  library->Find(functions->wait_all, "kdl_mpi_wait_all");
  library->Find(functions->shares_failure, "kdl_mpi_shares_failure");
  library->Find(functions->close, "kdl_mpi_close");
  library->Find(functions->abort, "kdl_mpi_abort");
  library->Find(functions->text, "kdl_mpi_text");
  library->Find(functions->text_size, "kdl_mpi_text_size");
  std::unique_ptr<MpiProcess> process(new MpiProcess(std::move(functions)));
  int code = process->functions_->open(&process->transport_.rank, &process->transport_.count);
  Status opened = process->StatusOfCode(code, "start");
  if (!opened.ok()) return opened.failure();
  return process;
}

std::unique_ptr<MpiProcess> MpiProcess::JoinFailed(const std::function<void()>& print) {
  // Other processes may have ended, or run something else, and never join.
  auto joined = std::make_shared<std::atomic<bool>>(false);
  std::thread([joined, print] {
    std::this_thread::sleep_for(std::chrono::minutes(1));
    if (joined->exchange(true)) return;
    print();
    EndBySignal();
  }).detach();
  Result<std::unique_ptr<MpiProcess>> process = Join();
  // If the time is over, the other thread ends this process.
  if (joined->exchange(true)) std::this_thread::sleep_for(std::chrono::minutes(1));
  return process.ok() ? std::move(*process) : nullptr;
}

void MpiProcess::EndBySignal() {
  WaitUntilOutputIsRead();
  std::signal(SIGTERM, SIG_DFL);
  std::raise(SIGTERM);
}

bool MpiProcess::SharesFailure(uint64_t errors) const {
  int shared = 0;
  return functions_->shares_failure(errors, kSecondsForFailures, &shared) == 0 && shared != 0;
}

Status MpiProcess::StatusOfCode(int code, const char* what) const {
  if (code == 0) return {};  // MPI_SUCCESS is 0 in all versions of the standard
  std::string text(static_cast<size_t>(functions_->text_size()) + 1, '\0');
  functions_->text(code, text.data());
  return Failure{fmt::format("MPI cannot {}: {}", what, text.c_str()), FailureKind::Environment};
}

kdl_error* MpiProcess::ErrorOfCode(int code, const char* what) const {
  Status status = StatusOfCode(code, what);
  if (status.ok()) return nullptr;
  return kdl_error_create(KDL_ERROR_DEVICE, status.failure().message.c_str());
}

Status MpiProcess::Close() { return StatusOfCode(functions_->close(), "end"); }

void MpiProcess::Abort(int code) {
  // MPICH's launcher drops what it has not read when a process aborts.
  WaitUntilOutputIsRead();
  functions_->abort(code);
  std::abort();  // not reached
}

}  // namespace kdl::driver
