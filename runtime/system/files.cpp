#include "system/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace kdl::runtime {

bool IsSpecial(const std::string& path) {
  struct stat facts = {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode);
}

std::int64_t ReadBytes(int file, char* to, std::size_t bytes) {
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t read = ::read(file, to + have, bytes - have);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return -1;
    if (read == 0) break;
    have += static_cast<std::size_t>(read);
  }
  return static_cast<std::int64_t>(have);
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

namespace {

// Opens a regular file. Returns -1 if the path cannot be opened or does not name a regular file. Checks the
// opened file instead of the path, because the path may already name another file when it is checked.
int OpenRegular(const std::string& path, std::string* reason) {
  // O_NONBLOCK is needed, because opening a pipe without a writer would block.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat facts = {};
  if (file < 0 || ::fstat(file, &facts) != 0) {
    *reason = std::strerror(errno);
  } else if (!S_ISREG(facts.st_mode)) {
    *reason = "it is not a regular file";
  } else {
    return file;
  }
  if (file >= 0) ::close(file);
  return -1;
}

}  // namespace

bool ReadStart(const std::string& path, std::size_t most, std::string* text, std::string* reason) {
  text->resize(most);
  const int file = OpenRegular(path, reason);
  if (file < 0) return false;
  const std::int64_t read = ReadBytes(file, text->data(), most);
  if (read < 0) *reason = std::strerror(errno);
  ::close(file);
  text->resize(static_cast<std::size_t>(read < 0 ? 0 : read));
  return read >= 0;
}

bool ReadFile(const std::string& path, std::size_t most, std::string* text, std::string* reason) {
  if (!ReadStart(path, most + 1, text, reason)) return false;
  if (text->size() <= most) return true;
  *reason = "it is larger than " + std::to_string(most) + " bytes, the maximum";
  return false;
}

bool WriteFile(const std::string& path, std::string_view text) {
  // O_NONBLOCK is needed, because opening a pipe without a reader would block. If there is one, it may be slow.
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0) return false;
  ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
  const bool is_written = WriteAll(file, text);
  const int error = errno;
  const bool is_closed = ::close(file) == 0;
  if (!is_written) errno = error;
  return is_closed && is_written;
}

int NamelessFile(const char* name, std::int64_t bytes) {
  const int low = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (low < 0) return -1;
  const int file = ::fcntl(low, F_DUPFD_CLOEXEC, kLowestFile);
  ::close(low);
  if (file >= 0 && ::ftruncate(file, bytes) != 0) {
    ::close(file);
    return -1;
  }
  return file;
}

bool SealFile(int file, bool frozen) {
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (frozen ? F_SEAL_WRITE : 0);
  return ::fcntl(file, F_ADD_SEALS, seals) == 0;
}

int NothingFile() { return ::open("/dev/null", O_RDWR | O_CLOEXEC); }

void CloseFile(int file) { ::close(file); }

bool WriteAtStart(int file, const void* from, std::int64_t bytes) {
  return ::pwrite(file, from, static_cast<std::size_t>(bytes), 0) == bytes;
}

std::string FirstLine(int file, std::int64_t most) {
  std::string text(static_cast<std::size_t>(most), '\0');
  const ssize_t read = ::pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(read > 0 ? read : 0));
  return text.substr(0, text.find_first_of(std::string_view("\n\0", 2)));
}

Line::Line() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  own = ends[0];
  theirs = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kLowestFile);
  ::close(ends[1]);
}

Line::~Line() {
  if (theirs >= 0) ::close(theirs);
}

void SendByte(int line) {
  const char byte = 1;
  ::send(line, &byte, 1, MSG_NOSIGNAL);
}

bool TakeByte(int line) {
  char byte = 0;
  return ::recv(line, &byte, 1, 0) == 1;
}

std::vector<bool> Rung(std::span<const int> lines, int milliseconds) {
  std::vector<pollfd> bells;
  for (int line : lines) bells.push_back({line, POLLIN, 0});
  std::vector<bool> rung(lines.size());
  if (::poll(bells.data(), bells.size(), milliseconds) <= 0) return rung;
  for (std::size_t i = 0; i < bells.size(); ++i) rung[i] = lines[i] >= 0 && bells[i].revents != 0;
  return rung;
}

void EndWith(const Line& line, int process) {
  ::fcntl(line.theirs, F_SETOWN, process);
  ::fcntl(line.theirs, F_SETFL, ::fcntl(line.theirs, F_GETFL) | O_ASYNC);
}

}  // namespace kdl::runtime
