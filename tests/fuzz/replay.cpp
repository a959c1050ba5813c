#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "mutate.h"
#include "target.h"

// What runs a fuzzer without libFuzzer: each file of the corpus as it is, then changed ones for a time.
//
//   replay SECONDS FILE_OR_FOLDER...
//
// The text that makes the process end, or takes over 20 seconds, is written to `crash.kdl` (or .kir) in the build folder.
namespace {

namespace fs = std::filesystem;

constexpr unsigned kLimitSeconds = 20;
std::string running;  // what a signal handler saves
std::string crash_path;

void Save(int signal) {
  int file = open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, running.data(), running.size()) >= 0) close(file);
  std::signal(signal, SIG_DFL);
  std::raise(signal == SIGALRM ? SIGABRT : signal);
}

void RunOne(std::string text) {
  running = std::move(text);
  alarm(kLimitSeconds);
  kdl::fuzz::Run(running);
  alarm(0);
}

std::vector<std::string> Read(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().extension() == kdl::fuzz::kEnding)
        files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: " << argv[0] << " SECONDS FILE_OR_FOLDER...\n";
    return 2;
  }
  fs::path build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  crash_path = (build / "crash").string() + std::string(kdl::fuzz::kEnding);
  for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGALRM}) std::signal(signal, Save);
  std::vector<std::string> texts = Read({argv + 2, argv + argc});
  for (const std::string& text : texts) RunOne(text);
  using Clock = std::chrono::steady_clock;
  auto end = Clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
  uint64_t count = 0;
  for (; !texts.empty() && Clock::now() < end; ++count) {
    const std::string& text = texts[count % texts.size()];
    const std::string& other = texts[(count * 7919 + 1) % texts.size()];
    RunOne(kdl::fuzz::Mutate(text, other, count));
  }
  std::cout << texts.size() << " texts, " << count << " changed ones: none fails\n";
  return texts.empty() ? 1 : 0;
}
