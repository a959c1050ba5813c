#include "system/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>

#include <cstring>
#include <vector>

#include "system/files.h"

namespace kdl::runtime {

namespace {

// Whether opening the file could block, or reading it might never end. Names without a slash are not paths.
bool IsSpecialPath(const std::string& name) {
  return name.find('/') != std::string::npos && IsSpecial(name);
}

bool ReadHeader(const std::string& path, Elf64_Ehdr* header) {
  std::string start;
  std::string reason;
  if (!ReadStart(path, sizeof *header, &start, &reason) || start.size() < sizeof *header)
    return false;
  std::memcpy(header, start.data(), sizeof *header);
  return std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
}

// Whether a file ends before its segments do, like a copy that is not complete. The system loads such a file, and then
// ends the process when it uses what is missing.
bool IsTruncated(const std::string& path) {
  Elf64_Ehdr header = {};
  struct stat facts = {};
  if (path.find('/') == std::string::npos || !ReadHeader(path, &header) ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      ::stat(path.c_str(), &facts) != 0)
    return false;
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  const std::uint64_t table = header.e_phnum * sizeof(Elf64_Phdr);
  if (header.e_phoff > size || table > size - header.e_phoff) return true;
  std::string start;
  std::string reason;
  if (!ReadStart(path, header.e_phoff + table, &start, &reason) ||
      start.size() < header.e_phoff + table)
    return true;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  std::memcpy(segments.data(), start.data() + header.e_phoff, table);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD &&
        (segment.p_offset > size || segment.p_filesz > size - segment.p_offset))
      return true;
  }
  return false;
}

// Keeps this library loaded until the process exits. Without this, an application could close it while
// destructors of thread-local variables still have to run. The system then postpones the unloading until the
// next dlclose. If this library itself makes that call, its code would be unloaded while it runs.
void StayLoaded() {
  Dl_info own = {};
  if (dladdr(reinterpret_cast<const void*>(&StayLoaded), &own) != 0)
    static_cast<void>(dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
}

}  // namespace

Library LoadDriver(const char* name) {
  return Library(dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), [](void*) {});
}

Library LoadLibrary(const char* name) {
  if (IsSpecialPath(name) || IsTruncated(name)) return nullptr;
  StayLoaded();
  return Library(dlopen(name, RTLD_NOW | RTLD_LOCAL), [](void* opened) {
    if (opened != nullptr) dlclose(opened);
  });
}

std::string WhyNotLoaded(const std::string& name) {
  if (IsSpecialPath(name)) return "it is not a regular file";
  if (IsTruncated(name)) return "it is truncated: it ends before its segments do";
  const char* said = dlerror();
  std::string reason = said == nullptr ? "" : said;
  if (reason.starts_with(name + ": ")) reason.erase(0, name.size() + 2);
  return reason;
}

void* SymbolOfProcess(const char* name) { return dlsym(RTLD_DEFAULT, name); }

void* SymbolOf(const Library& library, const char* name) { return dlsym(library.get(), name); }

const char* ArchOfLibrary(const std::string& path) {
  Elf64_Ehdr header = {};
  if (!ReadHeader(path, &header)) return nullptr;
  struct Row {
    int machine;
    const char* arch;
  };
  constexpr Row kRows[] = {
      {EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "riscv64"}, {EM_386, "x86"}};
  for (const Row& row : kRows) {
    if (row.machine == header.e_machine) return row.arch;
  }
  return nullptr;
}

}  // namespace kdl::runtime
