#include "tools/loading/named_code.h"

namespace kdl::tools {

std::vector<std::string> CodeFilesIn(std::string_view word, const targets::Registry& families) {
  std::vector<std::string> files;
  for (std::string_view spec : driver::SplitList(word)) {
    for (;;) {
      if (std::string file = families.CodeFile(spec); !file.empty()) files.push_back(file);
      size_t equals = spec.find('=');
      if (equals == std::string_view::npos) break;
      spec.remove_prefix(equals + 1);
    }
  }
  return files;
}

std::vector<std::string> NamedCodeFiles(const driver::Options& options,
                                        const targets::Registry& families) {
  std::vector<std::string> words = options.target;
  words.insert(words.end(), options.device.begin(), options.device.end());
  if (options.command == driver::Command::Devices || options.command == driver::Command::Targets)
    words.insert(words.end(), options.files.begin(), options.files.end());
  std::vector<std::string> files;
  for (const std::string& word : words) {
    for (std::string& file : CodeFilesIn(word, families)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace kdl::tools
