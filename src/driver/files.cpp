#include "driver/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include "driver/diagnostics.h"
#include "support/file_parts.h"
#include "support/io.h"
#include "support/near_names.h"
#include "support/system_error.h"

namespace kdl::driver {

namespace {

namespace fs = std::filesystem;

/// Returns the file in the same folder whose name is most similar to the missing one.
std::string NeighbourOf(const std::string& path) {
  fs::path missing(path);
  fs::path folder = missing.has_parent_path() ? missing.parent_path() : fs::path(".");
  std::vector<std::string> names;
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(folder, ignored); entry != fs::directory_iterator();
       entry.increment(ignored)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string_view> candidates(names.begin(), names.end());
  std::string_view nearest = NearestName(missing.filename().string(), candidates);
  return nearest.empty() ? std::string() : (missing.parent_path() / nearest).string();
}

void ReportMissing(const std::string& path, DiagnosticEngine& diagnostics) {
  Diagnostic& report = diagnostics.Report(diag::NoSuchFile, {}, path);
  std::string nearest = NeighbourOf(path);
  if (!nearest.empty()) report.Help(fmt::format("did you mean '{}'?", nearest));
}

/// Returns the reason in a message: "permission denied" for "cannot open 'x': Permission denied".
std::string ReasonOf(const Failure& failure) {
  size_t colon = failure.message.rfind(": ");
  return colon == std::string::npos ? failure.message : failure.message.substr(colon + 2);
}

/// Reports that a path cannot be written. Who has to act determines the id, and so the exit code.
void ReportUnwritable(const std::string& path, const std::string& reason, FailureKind kind,
                      DiagnosticEngine& diagnostics) {
  if (kind == FailureKind::Environment) {
    diagnostics.Report(diag::MachineFailed, {}, fmt::format("cannot write '{}': {}", path, reason));
  } else {
    diagnostics.Report(diag::CannotWrite, {}, path, reason);
  }
}

/// Reports that a path cannot be read.
void ReportUnreadable(const std::string& path, const std::string& reason, FailureKind kind,
                      DiagnosticEngine& diagnostics) {
  if (kind == FailureKind::Environment) {
    diagnostics.Report(diag::MachineFailed, {}, fmt::format("cannot read '{}': {}", path, reason));
  } else {
    diagnostics.Report(diag::CannotRead, {}, path, reason);
  }
}

/// Returns the path of an output with symbolic links resolved. On error, for example if the parent
/// folder does not exist, reports it and returns nothing.
std::optional<std::string> WritablePath(const std::string& output, DiagnosticEngine& diagnostics) {
  std::error_code none;
  Result<std::string> place = ThroughLinks(output);
  if (!place.ok()) {
    ReportUnwritable(output, ReasonOf(place.failure()), place.failure().kind, diagnostics);
    return std::nullopt;
  }
  fs::path folder = fs::path(*place).parent_path();
  if (folder.empty() || fs::exists(folder, none)) return *place;
  std::string link = *place == output ? "" : fmt::format("it is a link to '{}', and ", *place);
  diagnostics
      .Report(diag::CannotWrite, {}, output,
              fmt::format("{}there is no folder '{}'", link, folder.string()))
      .Help(fmt::format("create it first: mkdir -p {}", folder.string()));
  return std::nullopt;
}

/// An output of the command.
struct KnownOutput {
  std::string path;
  fs::path identity;  ///< the same for all paths of the file; empty for devices, which many may use
  std::string how;    ///< tells the user how to choose another name
  bool refused = false;
};

/// The files that the command reads and writes. They are those of the process, which runs one
/// command, since its outputs are written by code that does not know which files other code has read.
struct FilesInUse {
  std::mutex mutex;
  /// Paths, not inodes: if another process replaces an input, the new file is kept, too.
  std::set<std::string> inputs;
  std::vector<KnownOutput> outputs;
};
FilesInUse in_use;

bool IsInput(const std::string& output) {
  std::error_code none;
  return fs::exists(output, none) &&
         std::ranges::any_of(in_use.inputs, [&](const std::string& input) {
           return fs::equivalent(output, input, none);
         });
}

/// Whether the output may not be written. Reports the reason once.
bool IsRefused(KnownOutput& output, DiagnosticEngine& diagnostics) {
  if (output.refused || !IsInput(output.path)) return output.refused;
  Diagnostic& report = diagnostics.Report(diag::OutputIsInput, {}, output.path);
  if (!output.how.empty()) report.Help(output.how);
  output.refused = true;
  return true;
}

fs::path IdentityOf(const std::string& output, const std::string& place) {
  std::error_code none;
  bool is_device = fs::exists(output, none) && !fs::is_regular_file(output, none);
  return is_device ? fs::path() : fs::weakly_canonical(fs::absolute(place, none), none);
}

/// Adds an output. If another output is the same file, reports an error and refuses both.
bool AddOutput(const std::string& path, const fs::path& identity, std::string_view how,
               DiagnosticEngine& diagnostics) {
  auto same = std::ranges::find(in_use.outputs, identity, &KnownOutput::identity);
  bool is_second = !identity.empty() && same != in_use.outputs.end();
  if (is_second) {
    diagnostics.Report(diag::OutputTwice, {}, path).Help(std::string(how));
    same->refused = true;
  }
  in_use.outputs.push_back({path, identity, std::string(how), is_second});
  return !is_second;
}

/// Returns the number of bytes in a regular file. Reports an error if it is none, or cannot be found.
std::optional<size_t> SizeOfFile(const std::string& path, DiagnosticEngine& diagnostics) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (error) {
    if (error == std::errc::no_such_file_or_directory) {
      ReportMissing(path, diagnostics);
    } else {
      ReportUnreadable(path, error.message(), KindOfError(error.value(), false), diagnostics);
    }
    return std::nullopt;
  }
  if (fs::is_directory(status)) {
    diagnostics.Report(diag::IsFolder, {}, path);
    return std::nullopt;
  }
  if (!fs::is_regular_file(status)) {
    diagnostics.Report(diag::CannotRead, {}, path, "it is not a regular file");
    return std::nullopt;
  }
  return fs::file_size(path, error);
}

}  // namespace

bool AnyRefused(const std::vector<OutputFile>& files, DiagnosticEngine& diagnostics) {
  std::lock_guard lock(in_use.mutex);
  return std::ranges::any_of(files, [&](const OutputFile& file) {
    auto known = std::ranges::find(in_use.outputs, file.path, &KnownOutput::path);
    KnownOutput unknown{file.path, {}, {}};
    return IsRefused(known == in_use.outputs.end() ? unknown : *known, diagnostics);
  });
}

void ReportUnreadable(const std::string& path, const Failure& failure,
                      DiagnosticEngine& diagnostics) {
  ReportUnreadable(path, ReasonOf(failure), failure.kind, diagnostics);
}

void ReportUnwritable(const std::string& path, const Failure& failure,
                      DiagnosticEngine& diagnostics) {
  ReportUnwritable(path, ReasonOf(failure), failure.kind, diagnostics);
}

std::optional<std::string> ReadRewrittenFile(const std::string& path, size_t max_bytes,
                                             DiagnosticEngine& diagnostics) {
  std::optional<size_t> bytes = SizeOfFile(path, diagnostics);
  if (!bytes) return std::nullopt;
  if (*bytes > max_bytes) {
    diagnostics.Report(diag::FileTooLong, {}, path, static_cast<int64_t>(max_bytes >> 20));
    return std::nullopt;
  }
  Result<std::string> text = ReadFile(path, max_bytes);
  if (text.ok()) return std::move(*text);
  ReportUnreadable(path, text.failure(), diagnostics);
  return std::nullopt;
}

std::optional<InputStart> ReadInputStart(const std::string& path, size_t max_bytes,
                                         DiagnosticEngine& diagnostics) {
  AddInputs({path});
  std::optional<size_t> bytes = SizeOfFile(path, diagnostics);
  if (!bytes) return std::nullopt;
  InputStart start{std::string(std::min(*bytes, max_bytes), '\0'), static_cast<int64_t>(*bytes)};
  Result<FileParts> file = FileParts::OpenToRead(path);
  Status read = file.ok() ? file->ReadAt(0, std::as_writable_bytes(std::span(start.bytes)))
                          : Status(file.failure());
  if (read.ok()) return start;
  ReportUnreadable(path, read.failure(), diagnostics);
  return std::nullopt;
}

std::optional<std::string> ReadInputFile(const std::string& path, size_t max_bytes,
                                         DiagnosticEngine& diagnostics) {
  AddInputs({path});
  return ReadRewrittenFile(path, max_bytes, diagnostics);
}

void AddInputs(const std::vector<std::string>& paths) {
  std::lock_guard lock(in_use.mutex);
  for (const std::string& path : paths) {
    if (!path.empty()) in_use.inputs.insert(path);
  }
}

std::optional<std::string> ReadStandardInput(size_t max_bytes, DiagnosticEngine& diagnostics) {
  Result<std::string> text = kdl::ReadStandardInput(max_bytes);
  if (text.ok()) return std::move(*text);
  ReportUnreadable("standard input", ReasonOf(text.failure()), text.failure().kind, diagnostics);
  return std::nullopt;
}

bool MayWrite(const std::vector<std::string>& outputs, std::string_view how,
              DiagnosticEngine& diagnostics) {
  std::lock_guard lock(in_use.mutex);
  for (const std::string& output : outputs) {
    std::optional<std::string> place = WritablePath(output, diagnostics);
    if (!place) return false;
    if (!AddOutput(output, IdentityOf(output, *place), how, diagnostics)) return false;
  }
  return std::ranges::none_of(in_use.outputs, [&](KnownOutput& known) {
    return !known.refused && IsRefused(known, diagnostics);
  });
}

bool MakeFolder(const std::string& path, DiagnosticEngine& diagnostics) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) ReportUnwritable(path, error.message(), KindOfError(error.value(), true), diagnostics);
  return !error;
}

bool WriteOutputFiles(const std::vector<OutputFile>& files, DiagnosticEngine& diagnostics) {
  if (AnyRefused(files, diagnostics)) return false;
  std::vector<FreshFile> written;
  for (const OutputFile& file : files) {
    Result<FreshFile> fresh = FreshFile::Write(file.path, file.bytes, file.executable);
    if (!fresh.ok()) {
      ReportUnwritable(file.path, fresh.failure(), diagnostics);
      return false;
    }
    written.push_back(std::move(*fresh));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    Status put = written[i].Put();
    if (put.ok()) continue;
    ReportUnwritable(files[i].path, put.failure(), diagnostics);
    return false;
  }
  return true;
}

}  // namespace kdl::driver
