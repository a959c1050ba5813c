#include "driver/emit/python_project.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "codegen/orchestration/orchestration.h"
#include "driver/diagnostics.h"
#include "driver/emit/toolchain.h"
#include "driver/own_root.h"
#include "support/io.h"

namespace kdl::driver {

namespace {

namespace fs = std::filesystem;

constexpr const char* kInner = "_kernelc";
constexpr const char* kImages = "kernels.so";
constexpr const char* kExtension = "_core.abi3.so";
constexpr const char* kBackend = "backend.py";
constexpr const char* kProjectFile = "pyproject.toml";
/// The files of the package kernelc that a package of kernels contains.
constexpr const char* kCopied[] = {kExtension,      "_core.pyi", "arrays.py",
                                   "calling.py",    "errors.py", "library.py",
                                   "parameters.py", "py.typed",  "torch_ops.py"};

constexpr std::string_view kLicence =
#include "licence.inc"
    ;

/// Returns the folder of the package kernelc: in a build, in an installation, or around the program if the package
/// contains it.
fs::path FindPackage() {
  std::error_code error;
  for (const fs::path& path :
       {OwnRoot() / "python/kernelc", OwnRoot() / KDL_PYTHON_FOLDER / "kernelc", OwnRoot()})
    if (fs::exists(path / kExtension, error)) return path;
  return {};
}

/// Returns the first line of the comment at the beginning of the source. Doc comments belong to what follows them.
std::string FirstComment(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with("//") || line.starts_with("///") || line.starts_with("//!")) return "";
  size_t begin = line.find_first_not_of("/ \t\r");
  size_t end = line.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : std::string(line.substr(begin, end - begin + 1));
}

/// Returns whether the folder of the outputs already has the file pyproject.toml of such a project, which users edit, so that it is kept.
/// Reports an error and returns nothing if the file is that of another project.
std::optional<bool> HasProjectFile(Session& s) {
  std::error_code error;
  const fs::path path = fs::path(s.options.output) / kProjectFile;
  if (!fs::exists(path, error)) return false;
  std::optional<std::string> text = ReadInputFile(path.string(), kMostOfTool, s.diagnostics);
  if (!text) return std::nullopt;
  if (text->find("build-backend = \"backend\"") != text->npos) return true;
  s.diagnostics.Report(diag::OtherPythonProject, {}, path.string())
      .Help("name another folder with -o DIR");
  return std::nullopt;
}

}  // namespace

std::vector<OutputFile> PythonProjectFiles(Session& s, const Compilation& made,
                                           const std::string& runtime_name,
                                           const std::string& device, std::string images) {
  fs::path own = FindPackage();
  if (own.empty()) {
    s.diagnostics.Report(diag::NoPythonPackage, {}, kExtension)
        .Help(
            "build kernelc where Python's headers are installed (python3-dev), or use the kernelc "
            "of `pip install kernelc`");
    return {};
  }
  codegen::PythonProject texts = codegen::PrintPython(
      *made.module, runtime_name, device, kInner, kImages,
      s.sources.file_count() == 0 ? "" : FirstComment(s.sources.text(FileId(0))));
  std::optional<bool> has_own = HasProjectFile(s);
  if (!has_own) return {};
  std::string package = texts.package + "/";
  std::vector<OutputFile> files = {{package + "__init__.py", texts.init},
                                   {package + "__init__.pyi", texts.stubs},
                                   {package + "py.typed", ""},
                                   {package + "torch.py", texts.torch},
                                   {package + kImages, std::move(images)},
                                   {package + kInner + "/__init__.py", ""},
                                   {"licenses/kernelc.txt", std::string(kLicence)}};
  if (!*has_own) files.push_back({kProjectFile, texts.project});
  auto copy = [&](const std::string& name, const std::string& to) {
    Result<std::string> bytes = ReadFile((own / name).string(), kMostOfTool);
    if (bytes.ok()) {
      files.push_back({to + name, std::move(*bytes)});
    } else {
      s.diagnostics.Report(diag::MachineFailed, {}, bytes.failure().message);
    }
  };
  copy(kBackend, "");
  for (const char* name : kCopied) copy(name, package + kInner + "/");
  return files;
}

}  // namespace kdl::driver
