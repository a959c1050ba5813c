#include <cerrno>
#include <cstring>
#include <vector>

#include "checkpoints/checkpoints.h"
#include "checkpoints/layout.h"
#include "core/rows.h"
#include "kdl/first_and_others.hpp"
#include "system/shared_file.h"

namespace kdl::runtime {

namespace {

constexpr std::size_t kMostPathBytes = 4096;

kdl_code CodeOf(int error, bool writes) {
  switch (error) {
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return KDL_ERROR_DEVICE;
    case EACCES:
    case EDQUOT:
    case EFBIG:
    case ENOSPC:
    case EPERM:
    case EROFS:
      return writes ? KDL_ERROR_DEVICE : KDL_ERROR_INVALID_ARGUMENT;
    default:
      return KDL_ERROR_INVALID_ARGUMENT;
  }
}

// The source chooses the name, so a file that is not a checkpoint is never replaced.
Error WhyNotReplaceable(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  if (!IsFolder(folder))
    return Invalid("cannot write '", path, "': there is no folder '", folder, "'");
  if (!Exists(path)) return nullptr;
  const SharedFile file = SharedFile::OpenToRead(path);
  const std::int64_t size = file.is_open() ? file.Bytes() : -1;
  if (size < 0) return FileError("read", path);
  char begin[kCheckpointKind.size()];
  if (size >= std::int64_t{sizeof begin}) {
    if (!file.ReadAt(0, begin, sizeof begin)) return FileError("read", path);
    if (std::string_view(begin, sizeof begin) == kCheckpointKind) return nullptr;
  }
  return Invalid("'", path, "' exists, but is not a checkpoint, so it is not replaced; remove it, ",
                 "or write another name after `to =`");
}

// Writes one checkpoint.
class Writer {
 public:
  Writer(const Saved& saved, const kdl_transport* transport, TemporaryObserver observer)
      : saved_(saved), header_(HeaderOf(saved)), processes_(transport), file_(observer) {}

  Error Write() {
    std::vector<char> name(kMostPathBytes);
    Error mine = processes_.IsFirst() ? Create(name) : nullptr;
    KDL_RETURN_IF_ERROR(Error(processes_.Broadcast(name)));
    std::uint64_t sum = 0;
    if (name[0] != 0) mine = WriteElements(name.data(), &sum);
    KDL_RETURN_IF_ERROR(Error(processes_.Sum(sum, &sum)));
    if (processes_.IsFirst() && !mine) mine = WriteChecksum(sum);
    bool all = false;
    KDL_RETURN_IF_ERROR(Error(processes_.AllOf(name[0] != 0 && !mine, &all)));
    if (processes_.IsFirst() && all && !file_.Put()) mine = Fails();
    char verdict = processes_.IsFirst() && all && !mine ? 1 : 0;
    file_.Remove();  // before another process can end this one
    KDL_RETURN_IF_ERROR(Error(processes_.Broadcast({&verdict, 1})));
    if (mine || verdict != 0) return mine;
    return Fail(KDL_ERROR_DEVICE, "another process cannot write '", saved_.file, "'");
  }

 private:
  Error Fails() const { return FileError("write", saved_.file); }

  // Creates the new file, and stores its path.
  Error Create(std::vector<char>& name) {
    if (!file_.Create(saved_.file)) return Fails();
    const SharedFile file = SharedFile::OpenToWrite(file_.path());
    const bool is_begun = file.is_open() && file.WriteAt(0, header_.data(), header_.size()) &&
                          file.Resize(EndOfElements(saved_, header_.size()) + kChecksumBytes);
    if (!is_begun) return Fails();
    if (file_.path().size() >= name.size())
      return Invalid("cannot write '", saved_.file, "': its path is too long");
    std::memcpy(name.data(), file_.path().data(), file_.path().size());
    return nullptr;
  }

  // Writes the elements of this process, and adds what they contribute to the checksum.
  Error WriteElements(const char* name, std::uint64_t* sum) const {
    const SharedFile file = SharedFile::OpenToWrite(name);
    if (!file.is_open()) return Fails();
    auto offset = static_cast<std::int64_t>(header_.size());
    for (const SavedTensor& tensor : saved_.tensors) {
      for (const SavedPart& part : tensor.parts)
        if (part.is_written) KDL_RETURN_IF_ERROR(WritePart(file, tensor, part, offset, sum));
      offset += tensor.Bytes();
    }
    return file.Sync() ? nullptr : Fails();
  }

  Error WritePart(const SharedFile& file, const SavedTensor& tensor, const SavedPart& part,
                  std::int64_t offset, std::uint64_t* sum) const {
    const std::int64_t size = tensor.ElementBytes();
    Error failed;
    const auto write = [&](const char* row, std::size_t bytes, std::int64_t number) {
      const std::int64_t place = offset + number * size;
      if (!failed && !file.WriteAt(place, row, bytes)) failed = Fails();
      *sum += RowSum(place, row, bytes, static_cast<std::size_t>(size));
    };
    KDL_RETURN_IF_ERROR(WithRows(part.memory, part.boxes, KDL_MAP_READ, write));
    return failed;
  }

  Error WriteChecksum(std::uint64_t sum) const {
    const SharedFile file = SharedFile::OpenToWrite(file_.path());
    const std::string line = ChecksumLine(header_, sum);
    const bool is_written =
        file.is_open() &&
        file.WriteAt(EndOfElements(saved_, header_.size()), line.data(), line.size()) &&
        file.Sync();
    return is_written ? nullptr : Fails();
  }

  const Saved& saved_;
  const std::string header_;
  const ranks::FirstAndOthers processes_;
  ReplacingFile file_;  // only in the first process
};

}  // namespace

Error FileError(const char* action, const std::string& path) {
  const int error = errno;
  const bool writes = std::string_view(action) == "write";
  return Fail(CodeOf(error, writes), "cannot ", action, " '", path,
              "': ", error == 0 ? "it has become shorter" : std::strerror(error));
}

Error CheckReplaceable(const std::string& path, const kdl_transport* transport) {
  const ranks::FirstAndOthers processes(transport);
  Error mine = processes.IsFirst() ? WhyNotReplaceable(path) : nullptr;
  char may = mine ? 0 : 1;
  KDL_RETURN_IF_ERROR(Error(processes.Broadcast({&may, 1})));
  if (mine || may != 0) return mine;
  return Invalid("another process cannot write '", path, "'");
}

Error WriteCheckpoint(const Saved& saved, const kdl_transport* transport,
                      TemporaryObserver observer) {
  return Writer(saved, transport, observer).Write();
}

}  // namespace kdl::runtime
