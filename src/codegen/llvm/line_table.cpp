#include "codegen/llvm/line_table.h"

#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <utility>

namespace kdl::codegen {

struct LineTable::File {
  std::string image;
  std::unique_ptr<llvm::object::ObjectFile> object;
  std::unique_ptr<llvm::DWARFContext> debug;
};

LineTable::LineTable(std::unique_ptr<File> file) : file_(std::move(file)) {}
LineTable::LineTable(LineTable&&) noexcept = default;
LineTable& LineTable::operator=(LineTable&&) noexcept = default;
LineTable::~LineTable() = default;

Result<LineTable> LineTable::Read(std::string image) {
  auto file = std::make_unique<File>();
  file->image = std::move(image);
  auto object = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(file->image, "the linked kernels"));
  if (!object) return Failure{llvm::toString(object.takeError())};
  file->object = std::move(*object);
  file->debug = llvm::DWARFContext::create(*file->object);
  return LineTable(std::move(file));
}

std::vector<SourceLine> LineTable::LinesAt(uint64_t address) const {
  llvm::DILineInfoSpecifier wanted(llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue,
                                   llvm::DILineInfoSpecifier::FunctionNameKind::None);
  llvm::DIInliningInfo frames = file_->debug->getInliningInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection}, wanted);
  std::vector<SourceLine> lines;
  for (uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo& frame = frames.getFrame(i);
    if (frame.Line != 0) lines.push_back({frame.FileName, frame.Line});
  }
  return lines;
}

}  // namespace kdl::codegen
