// Functions that read files, create unnamed files, and connect processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::runtime {

// A file descriptor that a child may receive under a fixed number is at least this large in the parent, so
// that the two numbers never collide.
inline constexpr int kLowestFile = 10;

// Whether the path exists but is not a regular file. Reading from a folder, a device or a pipe might never
// end.
bool IsSpecial(const std::string& path);
// Reads up to `bytes` bytes, and returns the number of bytes read. On failure, returns -1 and sets errno.
std::int64_t ReadBytes(int file, char* to, std::size_t bytes);
// Writes all of the text. Returns false on failure.
bool WriteAll(int file, std::string_view text);
// Reads up to `most` bytes from the start of a regular file. On failure, returns false and sets `reason`.
bool ReadStart(const std::string& path, std::size_t most, std::string* text, std::string* reason);
// Reads a whole regular file of at most `most` bytes. On failure, returns false and sets `reason`.
bool ReadFile(const std::string& path, std::size_t most, std::string* text, std::string* reason);
// Replaces the contents of a file, which is created if it is missing, or writes to a device or a named pipe.
// On failure, also if nobody reads from the pipe, returns false and sets errno.
bool WriteFile(const std::string& path, std::string_view text);

// Creates an unnamed file that contains `bytes` zeros. Its descriptor is at least kLowestFile and is closed
// on exec. Returns -1 on failure.
int NamelessFile(const char* name, std::int64_t bytes);
// Prevents all processes from changing the file's size and, if `frozen`, from writing to it. Existing
// mappings stay valid.
bool SealFile(int file, bool frozen);
// Opens the null device. Returns -1 on failure.
int NothingFile();
void CloseFile(int file);
// Writes the bytes to the start of the file.
bool WriteAtStart(int file, const void* from, std::int64_t bytes);
// Returns the text before the first line break or NUL, but at most `most` bytes. Returns an empty string if
// the file cannot be read.
std::string FirstLine(int file, std::int64_t most);

// The two ends of a connection between processes. The descriptor of `theirs` is at least kLowestFile. The
// number -1 means that there is no descriptor. The destructor closes `theirs`.
struct Line {
  int own = -1;
  int theirs = -1;
  Line();
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
};
void SendByte(int line);  // does nothing if the other end is closed
// Receives a byte. Returns false if the other end is closed.
bool TakeByte(int line);
// Waits until, on one of the lines, a byte has arrived or the other end has been closed, but no longer than
// the given time. Returns for each line whether that has happened. Skips lines with negative numbers.
std::vector<bool> Rung(std::span<const int> lines, int milliseconds);
// Makes the system kill the process when the other end of the line is closed.
void EndWith(const Line& line, int process);

}  // namespace kdl::runtime
