#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "checkpoints/checkpoints.h"
#include "checkpoints/layout.h"
#include "core/rows.h"
#include "kdl/checkpoint_text.hpp"
#include "kdl/first_and_others.hpp"
#include "system/shared_file.h"

namespace kdl::runtime {

namespace {

Error Unusable(const std::string& path, const std::string& why) {
  return Invalid("'", path, "' ", why,
                 "; to start from the beginning, run the program without resuming");
}

// Reads the first line of a checkpoint file. Stores an empty string if there is none.
Error ReadHeader(const SharedFile& file, const std::string& path, std::string* header) {
  const std::int64_t size = file.Bytes();
  if (size < 0) return FileError("read", path);
  header->resize(static_cast<std::size_t>(std::min(size, kMostHeaderBytes)));
  if (!file.ReadAt(0, header->data(), header->size())) return FileError("read", path);
  header->resize(header->find('\n') + 1);  // npos + 1 is 0
  return nullptr;
}

Error ReadPart(const SharedFile& file, const Saved& saved, const SavedTensor& tensor,
               const SavedPart& part, std::int64_t offset, std::uint64_t* sum) {
  const std::int64_t size = tensor.ElementBytes();
  Error failed;
  const auto read = [&](char* row, std::size_t bytes, std::int64_t number) {
    const std::int64_t place = offset + number * size;
    if (!failed && !file.ReadAt(place, row, bytes)) failed = FileError("read", saved.file);
    if (!failed && part.is_written)
      *sum += RowSum(place, row, bytes, static_cast<std::size_t>(size));
  };
  KDL_RETURN_IF_ERROR(WithRows(part.memory, part.boxes, KDL_MAP_READ_WRITE, read));
  return failed;
}

// Reads the numbers and the elements of this process. Adds what those contribute to the checksum that this process would write.
Error Read(Saved& saved, std::string* header, std::uint64_t* sum) {
  const SharedFile file = SharedFile::OpenToRead(saved.file);
  if (!file.is_open()) return FileError("read", saved.file);
  KDL_RETURN_IF_ERROR(ReadHeader(file, saved.file, header));
  std::string why = WhyUnusable(*header, saved);
  const std::int64_t whole = EndOfElements(saved, header->size()) + kChecksumBytes;
  if (why.empty() && file.Bytes() != whole)
    why = Concat("is damaged: it has ", file.Bytes(), " bytes, but must have ", whole);
  if (!why.empty()) return Unusable(saved.file, why);
  auto offset = static_cast<std::int64_t>(header->size());
  for (const SavedTensor& tensor : saved.tensors) {
    for (const SavedPart& part : tensor.parts)
      KDL_RETURN_IF_ERROR(ReadPart(file, saved, tensor, part, offset, sum));
    offset += tensor.Bytes();
  }
  return nullptr;
}

// Compares the checksum in the file with that of the elements and of the header, which have been read.
Error CompareChecksum(const Saved& saved, const std::string& header, std::uint64_t sum) {
  std::string line(kChecksumBytes, 0);
  const SharedFile file = SharedFile::OpenToRead(saved.file);
  if (!file.is_open() ||
      !file.ReadAt(EndOfElements(saved, header.size()), line.data(), line.size()))
    return FileError("read", saved.file);
  if (line == ChecksumLine(header, sum)) return nullptr;
  return Unusable(saved.file, "is damaged: it does not have its checksum");
}

std::string OtherFile(const Saved& saved) {
  return Concat("the processes see different files '", saved.file,
                "'; start them in a folder that they share");
}

// Compares the first line of the file with that of the first process.
Error CompareHeaders(const ranks::FirstAndOthers& processes, const Saved& saved,
                     const std::string& header) {
  const std::uint64_t own = checkpoints::ChecksumOf(header);
  char bytes[sizeof own];
  std::memcpy(bytes, &own, sizeof own);
  KDL_RETURN_IF_ERROR(Error(processes.Broadcast(bytes)));
  if (std::memcmp(bytes, &own, sizeof own) == 0) return nullptr;
  return Fail(KDL_ERROR_DEVICE, OtherFile(saved));
}

// Returns the error of this process, or one with this text if another process has one.
Error AllSucceed(const ranks::FirstAndOthers& processes, Error mine, const std::string& of_other) {
  bool all = false;
  KDL_RETURN_IF_ERROR(Error(processes.Agree(!mine, &all)));
  return mine || all ? std::move(mine) : Fail(KDL_ERROR_DEVICE, of_other);
}

}  // namespace

Error ReadCheckpoint(Saved& saved, const kdl_transport* transport, bool* is_found) {
  const ranks::FirstAndOthers processes(transport);
  char exists = processes.IsFirst() && Exists(saved.file) ? 1 : 0;
  KDL_RETURN_IF_ERROR(Error(processes.Broadcast({&exists, 1})));
  *is_found = exists != 0;
  if (!*is_found) return nullptr;
  std::string header;
  std::uint64_t sum = 0;
  Error mine = Read(saved, &header, &sum);
  KDL_RETURN_IF_ERROR(AllSucceed(processes, std::move(mine),
                                 Concat("another process cannot read '", saved.file, "'")));
  mine = CompareHeaders(processes, saved, header);
  KDL_RETURN_IF_ERROR(AllSucceed(processes, std::move(mine), OtherFile(saved)));
  KDL_RETURN_IF_ERROR(Error(processes.Sum(sum, &sum)));
  if (processes.IsFirst()) mine = CompareChecksum(saved, header, sum);
  return AllSucceed(processes, std::move(mine), Concat("'", saved.file, "' is damaged"));
}

}  // namespace kdl::runtime
