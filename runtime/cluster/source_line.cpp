#include "cluster/source_line.h"

#include <chrono>
#include <cstdio>

#include "cluster/child_files.h"
#include "system/child.h"
#include "system/files.h"

namespace kdl::runtime {

namespace {

// Runs a program, and collects its output in the file `said`.
bool RunProgram(const std::vector<std::string>& words, int image, int said) {
  const int nothing = NothingFile();
  if (nothing < 0) return false;
  Child child;
  child.Give(nothing, kInput);
  child.Give(said, kOutput);
  child.Give(nothing, kErrors);
  child.Give(image, kImageFile);
  int process = -1;
  const bool started = child.Start(words, &process) == 0;
  CloseFile(nothing);
  return started && EndsWell(process, std::chrono::seconds(5));
}

}  // namespace

std::string SourceLine(const ClusterDescription& description, int image,
                       std::uint64_t instruction) {
  if (description.lines.empty()) return "";
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(instruction));
  std::vector<std::string> words;
  for (const std::string& word : description.lines)
    words.push_back(word == "{image}" ? kImagePath : word == "{address}" ? address : word);
  const int said = NamelessFile("kdl-cluster-line", 0);
  if (said < 0) return "";
  const std::string line = RunProgram(words, image, said) ? FirstLine(said, 4096) : "";
  CloseFile(said);
  return line.starts_with("??") || line.ends_with(":0") || line.ends_with(":?") ? "" : line;
}

}  // namespace kdl::runtime
