#include "support/source.h"

#include <algorithm>

namespace kdl {

Span Cover(Span first, Span last) {
  if (!first.valid()) return last;
  if (!last.valid()) return first;
  return {first.file, std::min(first.begin, last.begin), std::max(first.end, last.end)};
}

FileId SourceManager::Add(std::string path, std::string text, std::string name) {
  if (name.empty()) name = path;
  auto file = std::make_unique<File>(File{std::move(path), std::move(name), std::move(text), {0}});
  for (size_t i = 0; i < file->text.size(); ++i) {
    if (file->text[i] == '\n') file->line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
  files_.push_back(std::move(file));
  return FileId(static_cast<uint32_t>(files_.size() - 1));
}

std::string_view SourceManager::text(Span span) const {
  std::string_view all = text(span.file);
  size_t begin = std::min<size_t>(span.begin, all.size());
  return all.substr(begin, std::max<size_t>(span.end, begin) - begin);
}

LineColumn SourceManager::Locate(FileId id, uint32_t offset) const {
  const File& file = *files_[id.value];
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(file.text.size()));
  auto next = std::upper_bound(file.line_starts.begin(), file.line_starts.end(), offset);
  auto line = static_cast<uint32_t>(next - file.line_starts.begin());
  uint32_t column = 1;
  for (uint32_t i = file.line_starts[line - 1]; i < offset; ++i) {
    bool continuation = (static_cast<unsigned char>(file.text[i]) & 0xC0) == 0x80;
    if (!continuation) ++column;
  }
  return {line, column};
}

std::string_view SourceManager::Line(FileId id, uint32_t line) const {
  const File& file = *files_[id.value];
  if (line == 0 || line > file.line_starts.size()) return {};
  size_t begin = file.line_starts[line - 1];
  size_t end = line < file.line_starts.size() ? file.line_starts[line] - 1 : file.text.size();
  if (end > begin && file.text[end - 1] == '\r') --end;
  return std::string_view(file.text).substr(begin, end - begin);
}

Span SourceManager::FindSpan(std::string_view name, uint32_t line, uint32_t column,
                             uint32_t length) const {
  for (size_t i = 0; i < files_.size(); ++i) {
    const File& file = *files_[i];
    if (file.name != name || line == 0 || line > file.line_starts.size()) continue;
    uint32_t offset = file.line_starts[line - 1];
    auto size = static_cast<uint32_t>(file.text.size());
    for (uint32_t seen = 1; offset < size; ++offset) {
      bool starts = (static_cast<unsigned char>(file.text[offset]) & 0xC0) != 0x80;
      if (starts && seen++ == column) break;
    }
    return {FileId(static_cast<uint32_t>(i)), offset, std::min(offset + length, size)};
  }
  return {};
}

}  // namespace kdl
