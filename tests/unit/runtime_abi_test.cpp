// Compares the table of abi.def with the structs that the C compiler lays out.
#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "kdl/abi_hash.h"

namespace {

// Lays out structs using only the kinds of their fields, as the code generator does.
class Layout {
 public:
  void Open() { at_ = align_ = 0; }
  std::size_t Place(std::size_t bytes, std::size_t align) {
    at_ = (at_ + align - 1) / align * align;
    const std::size_t offset = at_;
    at_ += bytes;
    align_ = std::max(align_, align);
    return offset;
  }
  std::size_t Close(const std::string& name) {
    at_ = (at_ + align_ - 1) / align_ * align_;
    sizes_[name] = {at_, align_};
    return at_;
  }
  std::pair<std::size_t, std::size_t> SizeOf(const std::string& name) const {
    return sizes_.at(name);
  }

 private:
  std::size_t at_ = 0;
  std::size_t align_ = 0;
  std::map<std::string, std::pair<std::size_t, std::size_t>> sizes_;
};

constexpr std::size_t KindBytes(std::string_view kind) {
  return kind == "i8" ? 1 : kind == "i16" ? 2 : kind == "i32" ? 4 : 8;
}

TEST_CASE("abi: the compiler lays out structs as the table says, without padding") {
  Layout layout;
  std::size_t used = 0;
#define KDL_STRUCT(name, comment) \
  layout.Open();                  \
  used = 0;
#define KDL_FIELD(owner, ctype, kind, name, comment)                                       \
  CHECK_MESSAGE(layout.Place(KindBytes(#kind), KindBytes(#kind)) == offsetof(owner, name), \
                #owner "." #name);                                                         \
  CHECK_MESSAGE(used == offsetof(owner, name), "a hole before " #owner "." #name);         \
  used += sizeof(owner::name);
#define KDL_ARRAY(owner, ctype, kind, count, name, comment)                                        \
  CHECK_MESSAGE(layout.Place(KindBytes(#kind) * count, KindBytes(#kind)) == offsetof(owner, name), \
                #owner "." #name);                                                                 \
  CHECK_MESSAGE(used == offsetof(owner, name), "a hole before " #owner "." #name);                 \
  used += sizeof(owner::name);
#define KDL_NESTED(owner, type, name, comment)                                           \
  CHECK_MESSAGE(layout.Place(layout.SizeOf(#type).first, layout.SizeOf(#type).second) == \
                    offsetof(owner, name),                                               \
                #owner "." #name);                                                       \
  used += sizeof(owner::name);
#define KDL_STRUCT_END(name)                                 \
  CHECK_MESSAGE(layout.Close(#name) == sizeof(name), #name); \
  CHECK_MESSAGE(used == sizeof(name), "a hole at the end of " #name);
#include "kdl/abi.def"
}

TEST_CASE("abi: codes are unique and never change") {
  std::set<int> elements;
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  CHECK_MESSAGE(elements.insert(code).second, #spelling);                 \
  CHECK_MESSAGE((bits) == 8 * sizeof(ctype), #spelling);
#include "kdl/scalars.def"
  CHECK(elements.size() == 16);
  CHECK(KDL_BOOL == 1);
  CHECK(KDL_F32 == 12);
  CHECK(KDL_F64 == 13);

  std::set<int> traps;
#define KDL_TRAP_CODE(ID, code, text) CHECK_MESSAGE(traps.insert(code).second, #ID);
#include "kdl/abi.def"
  CHECK_FALSE(traps.contains(0));

  std::set<std::pair<std::string, int>> features;
#define KDL_FEATURE(ID, bit, arch, spelling) CHECK_MESSAGE(features.emplace(arch, bit).second, #ID);
#include "kdl/abi.def"
}

TEST_CASE("abi: the hash depends on names, kinds and codes") {
  using kdl::HashAbi;
  CHECK(kdl::kAbiHash == KDL_ABI_HASH);
  constexpr std::uint64_t kBefore = HashAbi("kdl_trap{i32 code;i32 location;}");
  constexpr std::uint64_t kSwapped = HashAbi("kdl_trap{i32 location;i32 code;}");
  CHECK(kBefore != kSwapped);
  CHECK(kdl::kAbiText.find("kdl_core{i32 size;") != std::string_view::npos);
  CHECK(kdl::kAbiText.find("EF32=12,32;") != std::string_view::npos);
}

}  // namespace
