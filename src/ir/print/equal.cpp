#include "ir/print/equal.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/format.h"
#include "ir/op_info.h"
#include "ir/print/printer.h"
#include "ir/print/value_names.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

/// Compares two functions op by op, and pairs the values that they define.
class Comparison {
 public:
  explicit Comparison(EqualOptions options) : options_(options) {}

  std::string Blocks(const Region* a, const Region* b);

 private:
  std::string Ops(const Op* a, const Op* b);
  std::string Values(const std::vector<Value*>& a, const std::vector<Value*>& b);
  std::string Operands(const Op* a, const Op* b);
  const Op* NextLine(const Op* op) const;
  bool SameUse(const Value* a, const Value* b) const;
  bool SameAccess(const Op* a, const Op* b) const;
  bool SameAttrs(const Op* a, const Op* b) const;

  EqualOptions options_;
  std::unordered_map<const Value*, const Value*> pairs_;
};

std::string Differ(const Op* a, const Op* b, std::string_view what) {
  return fmt::format("{}: `{}` and `{}`", what, PrintLine(*a), PrintLine(*b));
}

/// Returns `op`, or the first op after it, that is on a line of its own in the text.
const Op* Comparison::NextLine(const Op* op) const {
  while (op && !options_.locs && IsUnnamedConstant(op)) op = op->next();
  return op;
}

bool Comparison::SameUse(const Value* a, const Value* b) const {
  auto is_unnamed = [&](const Value* value) {
    return !options_.locs && value->def() && IsUnnamedConstant(value->def());
  };
  if (is_unnamed(a) && is_unnamed(b)) {
    return a->type() == b->type() &&
           a->def()->attr<AttrKey::Bits>() == b->def()->attr<AttrKey::Bits>();
  }
  auto found = pairs_.find(a);
  return found != pairs_.end() && found->second == b;
}

std::string Comparison::Values(const std::vector<Value*>& a, const std::vector<Value*>& b) {
  if (a.size() != b.size()) return fmt::format("{} values and {}", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    std::string name = BaseName(a[i]);
    std::string other = BaseName(b[i]);
    if (name != other) return fmt::format("names '{}' and '{}'", name, other);
    if (a[i]->type() != b[i]->type()) return fmt::format("types of '{}'", a[i]->name().text());
    pairs_[a[i]] = b[i];
  }
  return "";
}

bool Comparison::SameAccess(const Op* a, const Op* b) const {
  Access of_a = a->attr<AttrKey::Access>();
  Access of_b = b->attr<AttrKey::Access>();
  std::span<Value* const> index_a = a->Segment(AccessOperands(a->kind()));
  std::span<Value* const> index_b = b->Segment(AccessOperands(b->kind()));
  auto same_term = [&](const AccessTerm& x, const AccessTerm& y) {
    return x.coefficient == y.coefficient && SameUse(index_a[x.operand], index_b[y.operand]);
  };
  auto same_dim = [&](const AccessDim& x, const AccessDim& y) {
    return x.offset == y.offset &&
           std::equal(x.terms.begin(), x.terms.end(), y.terms.begin(), y.terms.end(), same_term);
  };
  return std::equal(of_a.dims.begin(), of_a.dims.end(), of_b.dims.begin(), of_b.dims.end(),
                    same_dim);
}

bool Comparison::SameAttrs(const Op* a, const Op* b) const {
  auto same = [&](const Attr& x, const Attr& y) {
    return x.key == y.key && (x.key == AttrKey::Access ? SameAccess(a, b) : x.value == y.value);
  };
  return a->attrs().size() == b->attrs().size() &&
         std::ranges::all_of(a->attrs(), [&](const Attr& attr) {
           const Attr* other = b->FindAttr(attr.key);
           return other && same(attr, *other);
         });
}

std::string Comparison::Operands(const Op* a, const Op* b) {
  for (size_t s = 0; s < a->info().operands.size(); ++s) {
    if (a->HasAttr(AttrKey::Access) && s == AccessOperands(a->kind())) continue;
    std::span<Value* const> of_a = a->Segment(s);
    std::span<Value* const> of_b = b->Segment(s);
    bool same = std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                           [&](const Value* x, const Value* y) { return SameUse(x, y); });
    if (!same) return Differ(a, b, fmt::format("operand '{}'", a->info().operands[s].name));
  }
  return "";
}

std::string Comparison::Ops(const Op* a, const Op* b) {
  if (a->kind() != b->kind()) return Differ(a, b, "operations");
  if (options_.locs && a->loc() != b->loc()) return Differ(a, b, "source locations");
  if (std::string operands = Operands(a, b); !operands.empty()) return operands;
  if (!SameAttrs(a, b)) return Differ(a, b, "attributes");
  for (size_t r = 0; r < a->regions().size(); ++r) {
    const Region* of_a = a->region(r);
    const Region* of_b = b->region(r);
    if (std::string params = Values(of_a->params(), of_b->params()); !params.empty()) {
      return Differ(a, b, params);
    }
    if (std::string inner = Blocks(of_a, of_b); !inner.empty()) return inner;
  }
  std::string results = Values(a->results(), b->results());
  return results.empty() ? "" : Differ(a, b, results);
}

std::string Comparison::Blocks(const Region* a, const Region* b) {
  // Pair the parameters of a function's body. The parameters of other regions are paired when the op that
  // contains the region is compared.
  if (!a->parent()) {
    if (std::string params = Values(a->params(), b->params()); !params.empty()) return params;
  }
  const Op* op_a = NextLine(a->first());
  const Op* op_b = NextLine(b->first());
  for (; op_a && op_b; op_a = NextLine(op_a->next()), op_b = NextLine(op_b->next())) {
    if (std::string op = Ops(op_a, op_b); !op.empty()) return op;
  }
  if (op_a) return fmt::format("`{}` is only in the first", PrintLine(*op_a));
  if (op_b) return fmt::format("`{}` is only in the second", PrintLine(*op_b));
  return "";
}

bool SameGeneric(const Generic& a, const Generic& b) {
  return a.name == b.name && a.values == b.values && a.is_auto == b.is_auto &&
         a.choices == b.choices;
}

bool SameAxis(const Axis& a, const Axis& b) {
  return a.name == b.name && a.extent == b.extent && a.domain == b.domain && a.parent == b.parent &&
         a.innermost == b.innermost;
}

template <class T, class Same>
bool SameList(const std::vector<T>& a, const std::vector<T>& b, Same&& same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::string Headers(const Function& a, const Function& b, EqualOptions options) {
  if (a.name != b.name) return fmt::format("name '{}' and '{}'", a.name.text(), b.name.text());
  if (a.kind != b.kind) return "kinds";
  if (a.exported != b.exported) return "export";
  if (a.doc != b.doc) return "documentation";
  if (options.locs && a.loc != b.loc) return "source locations";
  auto same_binding = [](const TypeBinding& x, const TypeBinding& y) {
    return x.name == y.name && x.scalar == y.scalar;
  };
  if (!SameList(a.bindings, b.bindings, same_binding)) return "type bindings";
  if (!SameList(a.generics, b.generics, SameGeneric)) return "generics";
  if (a.dims != b.dims) return "size names";
  if (a.results != b.results) return "results";
  if (!SameList(a.axes, b.axes, SameAxis)) return "axes";
  auto same_param = [](const Param& x, const Param& y) {
    return x.direction == y.direction && x.value->index() == y.value->index();
  };
  if (!SameList(a.params, b.params, same_param)) return "parameters";
  return "";
}

}  // namespace

std::string Difference(const Function& a, const Function& b, EqualOptions options) {
  std::string difference = Headers(a, b, options);
  if (difference.empty()) difference = Comparison(options).Blocks(a.body, b.body);
  return difference.empty() ? "" : fmt::format("@{}: {}", a.name.text(), difference);
}

std::string Difference(const Module& a, const Module& b, EqualOptions options) {
  KDL_CHECK(&a.context() == &b.context(), "the modules belong to different contexts");
  if (a.name != b.name) return "names of the modules";
  auto same_device = [](const Device& x, const Device& y) {
    return x.name == y.name && x.spec == y.spec && x.has_ranks == y.has_ranks &&
           x.rank_shape == y.rank_shape;
  };
  if (!SameList(a.devices, b.devices, same_device)) return "devices";
  if (a.functions().size() != b.functions().size()) return "numbers of functions";
  for (size_t i = 0; i < a.functions().size(); ++i) {
    std::string difference = Difference(*a.functions()[i], *b.functions()[i], options);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace kdl::ir
