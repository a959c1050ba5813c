#pragma once

#include <array>

#include "ir/op_info.h"

// The op table as a constant. Phases with a row for each op check at compile time that their tables match it.

namespace kdl::ir {

#define KDL_UNPAREN(...) __VA_ARGS__
#define ONE(name, effect) OperandSpec{#name, Arity::One, Effect::effect},
#define OPT(name, effect) OperandSpec{#name, Arity::Optional, Effect::effect},
#define MANY(name, effect) OperandSpec{#name, Arity::Many, Effect::effect},
#define REQ(key) AttrSpec{AttrKey::key, true},
#define MAY(key) AttrSpec{AttrKey::key, false},
inline constexpr OpInfo kOpTable[] = {
#define KDL_OP(kind, spelling, operands, results, attributes, places, traits, regions, format, \
               meaning, ...)                                                                   \
  OpInfo{OpKind::kind,                                                                         \
         spelling,                                                                             \
         {KDL_UNPAREN operands},                                                               \
         results,                                                                              \
         {KDL_UNPAREN attributes},                                                             \
         places,                                                                               \
         traits,                                                                               \
         regions,                                                                              \
         format,                                                                               \
         meaning},
#include "ir/ops.def"
};
#undef ONE
#undef OPT
#undef MANY
#undef REQ
#undef MAY

/// Returns whether there is exactly one row for each op for which `wanted` returns true, and no row for other
/// ops. Each row has a member `kind`.
template <class Row, size_t n, class Wanted>
consteval bool CoverOnce(const Row (&rows)[n], Wanted wanted) {
  std::array<int, kOpCount> found{};
  for (const Row& row : rows) ++found[static_cast<size_t>(row.kind)];
  for (const OpInfo& info : kOpTable) {
    if (found[static_cast<size_t>(info.kind)] != (wanted(info) ? 1 : 0)) return false;
  }
  return true;
}

/// Returns an array of the rows, indexed by op; the entries of ops without a row are empty.
template <class Row, size_t n>
consteval std::array<Row, kOpCount> ByOp(const Row (&rows)[n]) {
  std::array<Row, kOpCount> by_op{};
  for (const Row& row : rows) by_op[static_cast<size_t>(row.kind)] = row;
  return by_op;
}

}  // namespace kdl::ir
