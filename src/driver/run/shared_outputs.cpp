#include "driver/run/shared_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "driver/run/executor.h"
#include "driver/run/npy.h"
#include "kdl/first_and_others.hpp"
#include "support/file_parts.h"
#include "support/io.h"

namespace kdl::driver {

namespace {

Status Resize(const std::string& path, const std::string& shown, int64_t bytes) {
  Result<FileParts> file = FileParts::OpenToWrite(path, shown);
  return file.ok() ? file->Resize(bytes) : Status(file.failure());
}

class SharedWriter {
 public:
  SharedWriter(const LocalRanks& ranks, const std::vector<const BoundArgument*>& shared,
               DiagnosticEngine& diagnostics)
      : ranks_(ranks), shared_(shared), processes_(ranks.transport), diagnostics_(diagnostics) {}

  bool Write(const std::vector<OutputFile>& others) {
    std::vector<char> names(shared_.size() * PATH_MAX + 1);
    if (processes_.IsFirst()) names.back() = Create(names) ? 1 : 0;
    if (!Done(StatusOf(processes_.Broadcast(names)))) return false;
    bool written = names.back() != 0 && WriteParts(names);
    bool all = false;
    if (!Done(StatusOf(processes_.AllOf(written, &all)))) return false;
    char verdict = processes_.IsFirst() && all && Put(others) ? 1 : 0;
    files_.clear();  // removes what must not stay before another process can end this one
    return Done(StatusOf(processes_.Broadcast({&verdict, 1}))) && verdict != 0;
  }

 private:
  /// Creates files with their headers, and stores the paths under which they are written.
  bool Create(std::vector<char>& names) {
    for (size_t i = 0; i < shared_.size(); ++i) {
      const BoundArgument& argument = *shared_[i];
      const HostTensor& tensor = argument.tensor;
      std::string header = FormatNpyHeader(tensor.scalar, tensor.shape);
      Result<FreshFile> file = FreshFile::Write(argument.out_path, header);
      if (!file.ok()) return Fail(argument, file.failure());
      files_.push_back(std::move(*file));
      std::optional<std::string> path = files_.back().fresh();
      if (!path || path->size() >= PATH_MAX)
        return Fail(argument,
                    {fmt::format("cannot write '{}': several processes can only write a file",
                                 argument.out_path)});
      int64_t bytes =
          CountElements(WholeBox(tensor.shape)) * Bytes(tensor.scalar) + std::ssize(header);
      Status resized = Resize(*path, argument.out_path, bytes);
      if (!resized.ok()) return Fail(argument, resized.failure());
      std::ranges::copy(*path, names.begin() + static_cast<std::ptrdiff_t>(i * PATH_MAX));
    }
    return true;
  }

  bool WriteParts(const std::vector<char>& names) {
    for (size_t i = 0; i < shared_.size(); ++i) {
      if (!MakeOwnership(ranks_.grid, *shared_[i]).IsFirstOwner(ranks_.first)) continue;
      Status written = WritePart(*shared_[i], &names[i * PATH_MAX]);
      if (!written.ok()) return Fail(*shared_[i], written.failure());
    }
    return true;
  }

  static Status WritePart(const BoundArgument& argument, const char* path) {
    Result<FileParts> file = FileParts::OpenToWrite(path, argument.out_path);
    if (!file.ok()) return file.failure();
    const HostTensor& tensor = argument.tensor;
    auto offset = std::ssize(FormatNpyHeader(tensor.scalar, tensor.shape));
    int64_t size = Bytes(tensor.scalar);
    std::span<const std::byte> left(tensor.bytes);
    Status status;
    ForEachStoredRun(argument, [&](int64_t first, int64_t count) {
      if (!status.ok()) return;
      auto bytes = static_cast<size_t>(count * size);
      status = file->WriteAt(offset + first * size, left.first(bytes));
      left = left.subspan(bytes);
    });
    return status.ok() ? file->Sync() : status;
  }

  /// Gives all files their names, after the last one is complete.
  bool Put(const std::vector<OutputFile>& others) {
    std::vector<std::string> paths;
    for (const BoundArgument* argument : shared_) paths.push_back(argument->out_path);
    for (const OutputFile& other : others) {
      Result<FreshFile> file = FreshFile::Write(other.path, other.bytes, other.executable);
      if (!file.ok()) return ReportUnwritable(other.path, file.failure(), diagnostics_), false;
      files_.push_back(std::move(*file));
      paths.push_back(other.path);
    }
    for (size_t i = 0; i < files_.size(); ++i) {
      Status put = files_[i].Put();
      if (!put.ok()) return ReportUnwritable(paths[i], put.failure(), diagnostics_), false;
    }
    return true;
  }

  bool Fail(const BoundArgument& argument, const Failure& failure) {
    ReportUnwritable(argument.out_path, failure, diagnostics_);
    return false;
  }

  bool Done(const Status& status) {
    if (!status.ok()) ReportUnwritable(shared_[0]->out_path, status.failure(), diagnostics_);
    return status.ok();
  }

  const LocalRanks& ranks_;
  const std::vector<const BoundArgument*>& shared_;
  ranks::FirstAndOthers processes_;
  DiagnosticEngine& diagnostics_;
  std::vector<FreshFile> files_ = {};  ///< only in the first process
};

}  // namespace

bool WriteSharedOutputs(const LocalRanks& ranks, const std::vector<const BoundArgument*>& shared,
                        const std::vector<OutputFile>& others, DiagnosticEngine& diagnostics) {
  return SharedWriter(ranks, shared, diagnostics).Write(others);
}

}  // namespace kdl::driver
