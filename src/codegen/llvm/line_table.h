#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/result.h"

namespace kdl::codegen {

/// A line of a source file.
struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

/// The debug information of a linked file, which maps instructions to lines of the source.
class LineTable {
 public:
  /// `image` is the contents of an ELF file.
  static Result<LineTable> Read(std::string image);
  LineTable(LineTable&&) noexcept;
  LineTable& operator=(LineTable&&) noexcept;
  ~LineTable();

  /// Returns the line of the instruction at an address in the file, and then the lines of the calls through which it was
  /// inlined, from the inside to the outside. Returns nothing if the file does not say.
  std::vector<SourceLine> LinesAt(uint64_t address) const;

 private:
  struct File;
  explicit LineTable(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;
};

}  // namespace kdl::codegen
