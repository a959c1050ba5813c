#include "driver/run/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "driver/run/first_and_others.h"
#include "support/file_parts.h"
#include "support/io.h"

namespace kdl::driver {

namespace {

/// How the files of all versions begin.
constexpr std::string_view kKind = "kdl checkpoint ";
constexpr std::string_view kBegin = "kdl checkpoint 3 ";
constexpr size_t kDataAlignment = 64;
/// A header has a line for each number and tensor of a statement, so a longer one is not a header.
constexpr int64_t kMostHeaderBytes = int64_t{1} << 20;

int64_t CountBytes(const CheckpointTensor& tensor) {
  int64_t bytes = Bytes(tensor.scalar);
  for (int64_t size : tensor.sizes) bytes *= size;
  return bytes;
}

/// Returns bits that look random (the finalizer of SplitMix64).
uint64_t Mixed(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

uint64_t ChecksumOf(std::string_view text) {
  uint64_t sum = 0;
  for (char c : text) sum = Mixed(sum + static_cast<unsigned char>(c) + 1);
  return sum;
}

std::string HexText(uint64_t bits) { return fmt::format("{:016x}", bits); }

/// Returns the first line of a file, after which the elements begin.
std::string Header(const interp::CheckpointRequest& request,
                   const std::vector<CheckpointTensor>& tensors, const std::string& program) {
  nlohmann::ordered_json object;
  object["program"] = HexText(ChecksumOf(program));
  object["file"] = request.path.str();  // which loops of a program share with no other loop
  object["numbers"] = nlohmann::ordered_json::array();
  for (const auto& number : request.numbers)
    object["numbers"].push_back({{"type", Spelling(number.scalar)}, {"bits", number.bits}});
  object["tensors"] = nlohmann::ordered_json::array();
  for (const CheckpointTensor& tensor : tensors)
    object["tensors"].push_back(
        {{"name", tensor.name}, {"type", Spelling(tensor.scalar)}, {"sizes", tensor.sizes}});
  std::string line = std::string(kBegin) + object.dump();
  size_t length = (line.size() + 1 + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
  line.resize(length - 1, ' ');
  return line + "\n";
}

/// Calls `use(tensor, offset)` with the place of each tensor in the file. Returns the end of the file.
template <class Use>
Result<int64_t> ForEachPlace(const std::vector<CheckpointTensor>& tensors, size_t header, Use use) {
  auto offset = static_cast<int64_t>(header);
  for (const CheckpointTensor& tensor : tensors) {
    Status done = use(tensor, offset);
    if (!done.ok()) return done.failure();
    offset += CountBytes(tensor);
  }
  return offset;
}

constexpr int64_t kChecksumBytes = 17;  // with the line break

/// Returns the checksum of the elements that this process writes. Each one depends on its place in the file.
Result<uint64_t> ChecksumOf(const std::vector<CheckpointTensor>& tensors, size_t header) {
  uint64_t sum = 0;
  Result<int64_t> end =
      ForEachPlace(tensors, header, [&](const CheckpointTensor& tensor, int64_t offset) {
        auto size = static_cast<size_t>(Bytes(tensor.scalar));
        return tensor.for_written([&](int64_t first, const std::byte* row, size_t bytes) {
          auto place = static_cast<uint64_t>(offset) + static_cast<uint64_t>(first) * size;
          for (size_t at = 0; at < bytes; at += size) {
            uint64_t bits = 0;
            std::memcpy(&bits, row + at, size);
            sum += Mixed(Mixed(place + at) ^ bits);
          }
          return Status();
        });
      });
  if (!end.ok()) return end.failure();
  return sum;
}

std::string ChecksumLine(uint64_t sum) { return HexText(sum) + "\n"; }

int64_t EndOfData(const std::vector<CheckpointTensor>& tensors, size_t header) {
  return *ForEachPlace(tensors, header, [](auto&, int64_t) { return Status(); });
}

Failure NoFile(std::string_view path) {
  return {fmt::format("cannot write '{}': a checkpoint can only be written to a file", path)};
}

/// Writes one checkpoint.
class Writer {
 public:
  Writer(const interp::CheckpointRequest& request, const std::vector<CheckpointTensor>& tensors,
         const std::string& program, const kdl_transport* transport)
      : path_(request.path.str()),
        header_(Header(request, tensors, program)),
        tensors_(tensors),
        processes_(transport) {}

  Status Write() {
    std::vector<char> name(PATH_MAX);
    Status mine = processes_.IsFirst() ? Create(name) : Status();
    if (Status sent = processes_.Broadcast(name); !sent.ok()) return sent;
    if (name[0] != 0) mine = WriteElements(name.data());
    if (Status summed = WriteChecksum(name.data(), mine); !summed.ok()) return summed;
    Result<bool> all = processes_.AllOf(name[0] != 0 && mine.ok());
    if (!all.ok()) return all.failure();
    if (processes_.IsFirst() && *all) mine = file_->Put();
    char verdict = processes_.IsFirst() && *all && mine.ok() ? 1 : 0;
    file_.reset();  // removes what must not stay before another process can end this one
    if (Status sent = processes_.Broadcast({&verdict, 1}); !sent.ok()) return sent;
    if (!mine.ok() || verdict != 0) return mine;
    return Failure{fmt::format("another process cannot write '{}'", path_)};
  }

 private:
  /// Creates the new file, and stores its path.
  Status Create(std::vector<char>& name) {
    Result<FreshFile> file = FreshFile::Write(path_, header_);
    if (!file.ok()) return file.failure();
    std::optional<std::string> fresh = file->fresh();
    if (!fresh || fresh->size() >= name.size()) return NoFile(path_);
    file_.emplace(std::move(*file));
    Result<FileParts> parts = FileParts::OpenToWrite(*fresh, path_);
    if (!parts.ok()) return parts.failure();
    Status resized = parts->Resize(EndOfData(tensors_, header_.size()) + kChecksumBytes);
    if (resized.ok()) std::ranges::copy(*fresh, name.begin());
    return resized;
  }

  Status WriteElements(const char* name) {
    Result<FileParts> file = FileParts::OpenToWrite(name, path_);
    if (!file.ok()) return file.failure();
    Result<int64_t> end =
        ForEachPlace(tensors_, header_.size(), [&](const CheckpointTensor& tensor, int64_t offset) {
          return tensor.for_written([&](int64_t first, const std::byte* row, size_t bytes) {
            return file->WriteAt(offset + first * Bytes(tensor.scalar), {row, bytes});
          });
        });
    return end.ok() ? file->Sync() : Status(end.failure());
  }

  /// Lets the first process write the checksum, unless `mine` is a failure. Fails only if the processes cannot send.
  Status WriteChecksum(const char* name, Status& mine) {
    Result<uint64_t> own = ChecksumOf(tensors_, header_.size());
    if (mine.ok() && !own.ok()) mine = own.failure();
    Result<uint64_t> sum = processes_.Sum(own.ok() ? *own : 0);
    if (!sum.ok()) return sum.failure();
    if (!processes_.IsFirst() || !mine.ok()) return {};
    std::string line = ChecksumLine(*sum + ChecksumOf(header_));
    Result<FileParts> file = FileParts::OpenToWrite(name, path_);
    mine = file.ok()
               ? file->WriteAt(EndOfData(tensors_, header_.size()), std::as_bytes(std::span(line)))
               : Status(file.failure());
    if (mine.ok()) mine = file->Sync();
    return {};
  }

  std::string path_;
  std::string header_;
  const std::vector<CheckpointTensor>& tensors_;
  FirstAndOthers processes_;
  std::optional<FreshFile> file_ = {};  ///< only in the first process
};

/// Reads the first line of a checkpoint file. Returns an empty string if there is none.
Result<std::string> ReadHeader(const FileParts& file) {
  Result<int64_t> size = file.Size();
  if (!size.ok()) return size.failure();
  std::string text(static_cast<size_t>(std::min(*size, kMostHeaderBytes)), 0);
  Status read = file.ReadAt(0, std::as_writable_bytes(std::span(text)));
  if (!read.ok()) return read.failure();
  size_t end = text.find('\n');
  return end == std::string::npos ? "" : text.substr(0, end + 1);
}

/// Stores the numbers of a header. Returns whether there are as many as in the request.
bool StoreNumbers(const nlohmann::json& header, interp::CheckpointRequest& request) {
  if (!header.is_object() || !header.contains("numbers")) return false;
  const auto& numbers = header["numbers"];
  if (!numbers.is_array() || numbers.size() != request.numbers.size()) return false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i].is_object() || !numbers[i].contains("bits")) return false;
    if (!numbers[i]["bits"].is_number_unsigned()) return false;
    request.numbers[i].bits = numbers[i]["bits"].get<uint64_t>();
  }
  return true;
}

/// Returns why the program cannot continue at a file with this header, or an empty string. Stores the numbers of the header.
std::string WhyUnusable(const std::string& header, interp::CheckpointRequest& request,
                        const std::vector<CheckpointTensor>& tensors, const std::string& program) {
  if (!header.starts_with(kKind)) return "is not a checkpoint";
  if (!header.starts_with(kBegin)) return "was written by another version of kernelc";
  auto object = nlohmann::json::parse(header.substr(kBegin.size()), nullptr, false);
  if (!StoreNumbers(object, request)) return "is not a checkpoint of this loop";
  if (object.value("program", "") != HexText(ChecksumOf(program)))
    return "was written by another program, or before the program was changed";
  if (header != Header(request, tensors, program))
    return "is not a checkpoint of this loop with these sizes";
  return "";
}

/// Compares the checksum in the file with that of the elements and of the first line, which has been read.
Status CompareChecksum(const std::string& path, const std::vector<CheckpointTensor>& tensors,
                       const std::string& header, uint64_t sum) {
  std::string line(kChecksumBytes, 0);
  Result<FileParts> file = FileParts::OpenToRead(path);
  if (!file.ok()) return file.failure();
  Status read =
      file->ReadAt(EndOfData(tensors, header.size()), std::as_writable_bytes(std::span(line)));
  if (!read.ok()) return read;
  if (line == ChecksumLine(sum + ChecksumOf(header))) return {};
  return Failure{
      fmt::format("'{}' is damaged: it does not have its checksum; without --resume, the "
                  "program starts from the beginning",
                  path),
      FailureKind::User};
}

/// Reads the elements of this process.
Status Read(interp::CheckpointRequest& request, const std::vector<CheckpointTensor>& tensors,
            const std::string& program) {
  std::string path = request.path.str();
  Result<FileParts> file = FileParts::OpenToRead(path);
  if (!file.ok()) return file.failure();
  Result<std::string> header = ReadHeader(*file);
  if (!header.ok()) return header.failure();
  Result<int64_t> size = file->Size();
  if (!size.ok()) return size.failure();
  std::string why = WhyUnusable(*header, request, tensors, program);
  int64_t whole = EndOfData(tensors, header->size()) + kChecksumBytes;
  if (why.empty() && *size != whole)
    why = fmt::format("is damaged: it has {} bytes, but must have {}", *size, whole);
  if (!why.empty())
    return Failure{
        fmt::format("'{}' {}; without --resume, the program starts from the beginning", path, why),
        FailureKind::User};
  Result<int64_t> end =
      ForEachPlace(tensors, header->size(), [&](const CheckpointTensor& tensor, int64_t offset) {
        return tensor.for_read([&](int64_t first, std::byte* row, size_t bytes) {
          return file->ReadAt(offset + first * Bytes(tensor.scalar), {row, bytes});
        });
      });
  return end.ok() ? Status() : Status(end.failure());
}

/// The source chooses the name, so a file that is not a checkpoint is never replaced.
Status WhyNotReplaceable(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    return Failure{fmt::format("cannot write '{}': there is no folder '{}'", path, folder.string()),
                   FailureKind::User};
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return {};
  std::string begin(kKind.size(), 0);
  Result<FileParts> file = FileParts::OpenToRead(path);
  if (!file.ok()) return file.failure();
  Result<int64_t> size = file->Size();
  if (!size.ok()) return size.failure();
  if (*size >= static_cast<int64_t>(begin.size())) {
    Status read = file->ReadAt(0, std::as_writable_bytes(std::span(begin)));
    if (!read.ok()) return read;
    if (begin == kKind) return {};
  }
  return Failure{
      fmt::format("'{}' exists, but is not a checkpoint, so it is not replaced; remove it, "
                  "or write another name after `to =`",
                  path),
      FailureKind::User};
}

}  // namespace

std::string CheckpointName(const std::string& path) {
  std::filesystem::path name(path);
  std::error_code error;
  std::filesystem::path folder = std::filesystem::current_path(error);
  if (name.is_absolute() && !error) name = name.lexically_relative(folder);
  return name.lexically_normal().string();
}

Status CheckReplaceable(const std::string& path, const kdl_transport* transport) {
  FirstAndOthers processes(transport);
  Status mine = processes.IsFirst() ? WhyNotReplaceable(path) : Status();
  char may = mine.ok() ? 1 : 0;
  if (Status sent = processes.Broadcast({&may, 1}); !sent.ok()) return sent;
  if (!mine.ok() || may != 0) return mine;
  return Failure{fmt::format("another process cannot write '{}'", path), FailureKind::User};
}

Status WriteCheckpoint(const interp::CheckpointRequest& request,
                       const std::vector<CheckpointTensor>& tensors, const std::string& program,
                       const kdl_transport* transport) {
  return Writer(request, tensors, program, transport).Write();
}

Status ReadCheckpoint(interp::CheckpointRequest& request,
                      const std::vector<CheckpointTensor>& tensors, const std::string& program,
                      const kdl_transport* transport) {
  FirstAndOthers processes(transport);
  std::error_code missing;
  char exists = processes.IsFirst() && std::filesystem::exists(request.path.str(), missing) ? 1 : 0;
  if (Status sent = processes.Broadcast({&exists, 1}); !sent.ok()) return sent;
  if (exists == 0) return {};
  Status mine = Read(request, tensors, program);
  std::string header = Header(request, tensors, program);
  Result<uint64_t> own = ChecksumOf(tensors, header.size());
  if (mine.ok() && !own.ok()) mine = own.failure();
  Result<uint64_t> sum = processes.Sum(own.ok() ? *own : 0);
  if (!sum.ok()) return sum.failure();
  if (processes.IsFirst() && mine.ok())
    mine = CompareChecksum(request.path.str(), tensors, header, *sum);
  Result<bool> all = processes.Agree(mine.ok());
  if (!all.ok()) return all.failure();
  if (!mine.ok() || *all) return mine;
  return Failure{fmt::format("another process cannot read '{}'", request.path.text())};
}

}  // namespace kdl::driver
