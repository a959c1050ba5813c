#include "driver/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "driver/diagnostics.h"
#include "support/io.h"
#include "support/near_names.h"

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

/// Returns the path of an output with symbolic links resolved. On error, for example if the parent
/// folder does not exist, reports it and returns nothing.
std::optional<std::string> WritablePath(const std::string& output, DiagnosticEngine& diagnostics) {
  std::error_code none;
  Result<std::string> place = ThroughLinks(output);
  if (!place.ok()) {
    diagnostics.Report(diag::CannotWrite, {}, output, ReasonOf(place.failure()));
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

bool ReportUnwritten(const OutputFile& file, const Failure& failure,
                     DiagnosticEngine& diagnostics) {
  diagnostics.Report(diag::CannotWrite, {}, file.path, ReasonOf(failure));
  return false;
}

}  // namespace

std::optional<std::string> ReadInputFile(const std::string& path, size_t max_bytes,
                                         DiagnosticEngine& diagnostics) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (error) {
    if (error == std::errc::no_such_file_or_directory) {
      ReportMissing(path, diagnostics);
    } else {
      diagnostics.Report(diag::CannotRead, {}, path, error.message());
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
  if (fs::file_size(path, error) > max_bytes) {
    diagnostics.Report(diag::FileTooLong, {}, path, static_cast<int64_t>(max_bytes >> 20));
    return std::nullopt;
  }
  Result<std::string> text = ReadFile(path, max_bytes);
  if (text.ok()) return std::move(*text);
  diagnostics.Report(diag::CannotRead, {}, path, ReasonOf(text.failure()));
  return std::nullopt;
}

std::optional<std::string> ReadStandardInput(size_t max_bytes, DiagnosticEngine& diagnostics) {
  Result<std::string> text = kdl::ReadStandardInput(max_bytes);
  if (text.ok()) return std::move(*text);
  diagnostics.Report(diag::CannotRead, {}, "standard input", ReasonOf(text.failure()));
  return std::nullopt;
}

bool MayWrite(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs,
              std::string_view how, DiagnosticEngine& diagnostics) {
  std::error_code none;
  std::set<fs::path> seen;
  for (const std::string& output : outputs) {
    std::optional<std::string> place = WritablePath(output, diagnostics);
    if (!place) return false;
    auto is_output = [&](const std::string& input) { return fs::equivalent(output, input, none); };
    if (std::any_of(inputs.begin(), inputs.end(), is_output)) {
      diagnostics.Report(diag::OutputIsInput, {}, output).Help(std::string(how));
      return false;
    }
    bool is_device = fs::exists(output, none) && !fs::is_regular_file(output, none);
    if (!is_device && !seen.insert(fs::weakly_canonical(fs::absolute(*place, none), none)).second) {
      diagnostics.Report(diag::OutputTwice, {}, output).Help(std::string(how));
      return false;
    }
  }
  return true;
}

bool MakeFolder(const std::string& path, DiagnosticEngine& diagnostics) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) diagnostics.Report(diag::CannotWrite, {}, path, error.message());
  return !error;
}

bool WriteOutputFiles(const std::vector<OutputFile>& files, DiagnosticEngine& diagnostics) {
  std::vector<FreshFile> written;
  for (const OutputFile& file : files) {
    Result<FreshFile> fresh = FreshFile::Write(file.path, file.bytes, file.executable);
    if (!fresh.ok()) return ReportUnwritten(file, fresh.failure(), diagnostics);
    written.push_back(std::move(*fresh));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    Status put = written[i].Put();
    if (!put.ok()) return ReportUnwritten(files[i], put.failure(), diagnostics);
  }
  return true;
}

}  // namespace kdl::driver
