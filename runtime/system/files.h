// Files that are read, files without a name, and lines between processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kdl::runtime {

// Those that a child may be given under a number of its own lie from here on, so that none is in the way.
inline constexpr int kLowestFile = 10;

// Whether there is something that is no regular file: a folder, a device, a pipe, which may have no end.
bool IsSpecial(const std::string& path);
// Reads as many of the bytes as there are, and gives how many; -1: it could not, and errno says why.
std::int64_t ReadBytes(int file, char* to, std::size_t bytes);
// The first bytes of a regular file, `most` of them or all that there are; false: why not is in `reason`.
bool ReadStart(const std::string& path, std::size_t most, std::string* text, std::string* reason);
// The whole of a regular file of at most `most` bytes; false: why not is in `reason`.
bool ReadFile(const std::string& path, std::size_t most, std::string* text, std::string* reason);

// A file without a name that holds `bytes` zeros, from kLowestFile on and closed where programs start; -1: none.
int NamelessFile(const char* name, std::int64_t bytes);
// From now on nobody, whoever has it, makes the file shorter or longer; `frozen`: nor writes to it. What is mapped of it stays there.
bool SealFile(int file, bool frozen);
// What reads as empty and takes anything; -1: there is none.
int NothingFile();
void CloseFile(int file);
// Puts the bytes at the file's start.
bool WriteAtStart(int file, const void* from, std::int64_t bytes);
// What stands before the first line break or 0, or the first `most` bytes; empty where that cannot be read.
std::string FirstLine(int file, std::int64_t most);

// Two ends of a line, `theirs` from kLowestFile on; -1: there is none. The destructor closes theirs.
struct Line {
  int own = -1;
  int theirs = -1;
  Line();
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
};
void SendByte(int line);  // to one that is dead: nothing
// False: the other end is gone.
bool TakeByte(int line);
// Of each line whether a byte, or its end, can be taken, as soon as that is so of one; all false where it is of none for so long.
// Lines below 0 are passed over.
std::vector<bool> Rung(std::span<const int> lines, int milliseconds);
// The system ends the process when the line's other end is gone, whatever the process does.
void EndWith(const Line& line, int process);

}  // namespace kdl::runtime
