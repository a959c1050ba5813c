#include "tools/kdl_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace kdl::tools {

namespace fs = std::filesystem;

std::vector<std::string> FindKdlFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    for (auto entry = fs::recursive_directory_iterator(path, error);
         entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() == ".kdl" && entry->is_regular_file(error))
        files.push_back(entry->path().lexically_normal().string());
    }
  }
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace kdl::tools
