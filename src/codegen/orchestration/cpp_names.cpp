#include "codegen/orchestration/cpp_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace kdl::codegen {

namespace {

// All keywords of C and C++, including contextual keywords. Also the types that generated code uses without a
// namespace, and the lower-case macros of the headers that generated code includes.
// tests/run/generated_names.py checks every keyword and every macro of those headers.
constexpr std::string_view kWords =
    " "
    "alignas alignof alloca and and_eq asm auto be16toh be32toh be64toh bitand bitor bool break "
    "case catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept "
    "const const_cast consteval constexpr constinit continue contract_assert decltype default "
    "delete do double dynamic_cast else enum errno explicit export extern false final float for "
    "fpclassify friend goto htobe16 htobe32 htobe64 htole16 htole32 htole64 i386 if import "
    "inline int int16_t int32_t int64_t int8_t isfinite isgreater isgreaterequal isinf isless "
    "islessequal islessgreater isnan isnormal issubnormal isunordered le16toh le32toh le64toh "
    "linux long main math_errhandling module mutable namespace new noexcept not not_eq nullptr "
    "offsetof operator or or_eq override private protected pthread_cleanup_pop "
    "pthread_cleanup_pop_restore_np pthread_cleanup_push pthread_cleanup_push_defer_np public "
    "register reinterpret_cast requires restrict return sched_priority short signbit signed "
    "sizeof static static_assert static_cast std stderr stdin stdout struct switch template "
    "this thread_local throw true try typedef typeid typename typeof typeof_unqual uint16_t "
    "uint32_t uint64_t uint8_t union unix unsigned using va_arg va_copy va_end va_start virtual "
    "void volatile wchar_t while xor xor_eq ";

bool IsSmall(char c) { return c >= 'a' && c <= 'z'; }
bool IsCapital(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsOneOf(std::string_view words, std::string_view name) {
  return words.find(fmt::format(" {} ", name)) != std::string_view::npos;
}

/// Returns whether the spelling shows that the name is not a macro. Macro names are in capitals, or begin
/// with several capitals (`M_PIf`, `PRId64`).
bool HasPlainLetters(std::string_view name) {
  if (IsSmall(name[0])) return true;
  if (!IsCapital(name[0])) return false;
  bool is_numbered = name.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return is_numbered || IsSmall(name[1]);
}

bool IsPlain(std::string_view name, bool is_global) {
  bool is_ours = name == "kdl" || name.starts_with("kdl_");
  return HasPlainLetters(name) && !is_ours && !IsOneOf(kWords, name) &&
         !(is_global && IsOfCLibrary(name));
}

/// Removes `_` at both ends, and replaces each run of several `_` with one.
std::string Trimmed(std::string_view name) {
  std::string trimmed;
  for (char c : name) {
    bool is_extra = c == '_' && (trimmed.empty() || trimmed.back() == '_');
    if (!is_extra) trimmed += c;
  }
  if (trimmed.ends_with('_')) trimmed.pop_back();
  return trimmed;
}

}  // namespace

std::string CppNames::PickFree(std::string_view wanted, bool is_global) {
  // The element `m.0` of a tuple becomes `m_0`.
  std::string plain(wanted.empty() ? "value" : wanted);
  std::ranges::replace(plain, '.', '_');
  std::string base = Trimmed(plain);
  bool is_kept = base == plain;
  if (base.empty() || IsDigit(base[0])) base.insert(0, "n");
  std::string name = base;
  for (int number = 2;; ++number) {
    if (!is_kept || !IsPlain(name, is_global)) name += '_';
    if (taken_.insert(name).second) return name;
    name = fmt::format("{}{}", base, number);
  }
}

std::string CppNames::Pick(std::string_view wanted) { return PickFree(wanted, false); }

std::string CppNames::PickGlobal(std::string_view wanted) { return PickFree(wanted, true); }

}  // namespace kdl::codegen
