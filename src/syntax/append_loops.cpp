#include "syntax/append_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "syntax/copy_tree.h"
#include "syntax/tree_maker.h"

namespace kdl::syntax {

namespace {

/// Returns the range of the appended elements, or null if each execution of the statement appends at most one.
const Ident* RangeOf(const Append& append) {
  const Binder& last = append.loops.back()->binders.back();
  return IsRange(last) ? &last.name : nullptr;
}

/// Copies the body of a loop for one of its two executions.
class Execution : public TreeCopier {
 public:
  Execution(Builder& builder, const AppendSurvey& survey, const MadeNames& names, bool writes)
      : TreeCopier(builder.arena),
        builder_(builder),
        survey_(survey),
        names_(names),
        writes_(writes) {}

 private:
  const Stmt* Replacement(const Stmt* stmt) override;
  const Stmt* Count(const Append& append, const TreeMaker& make);
  const Stmt* Write(const Append& append, const TreeMaker& make);
  /// Makes what depends on the number of elements, so that errors about it point to the condition.
  TreeMaker AtCondition(const Append& append) const {
    const Expr* condition = append.stmt->condition;
    return {builder_, condition == nullptr ? append.stmt->span : condition->span};
  }
  std::vector<const Stmt*> Stores(const Append& append, const Expr* place, const Expr* condition);

  Builder& builder_;
  const AppendSurvey& survey_;
  const MadeNames& names_;
  bool writes_;
};

const Stmt* Execution::Replacement(const Stmt* stmt) {
  TreeMaker make(builder_, stmt->span);
  if (!writes_ && stmt->kind == StmtKind::Print) return make.Block({});
  const auto* assign = DynAs<AssignStmt>(stmt);
  if (assign == nullptr) return nullptr;
  if (!IsAppend(*assign)) {
    const NameExpr* base = BaseOf(assign->target);
    bool is_store = base != nullptr && survey_.stored.contains(base->name);
    return is_store && !writes_ ? make.Block({}) : nullptr;
  }
  const Append& append =
      *std::ranges::find_if(survey_.appends, [&](auto& a) { return a.stmt == assign; });
  return writes_ ? Write(append, make) : Count(append, make);
}

/// Returns the number of elements that are appended for one element of the range.
const Expr* OneIf(const Expr* condition, const TreeMaker& make) {
  return condition == nullptr ? make.I64(1) : make.OneIf(condition);
}

const Stmt* Execution::Count(const Append& append, const TreeMaker& make) {
  const Expr* condition = Expression(append.stmt->condition);
  TreeMaker at = AtCondition(append);
  const Expr* more = nullptr;
  if (const Ident* range = RangeOf(append)) {
    more = at.As(make.Reduce("sum", OneIf(condition, make), *range), at.Type("i64"));
  } else {
    more = OneIf(condition, at);
  }
  return make.Assign(make.Name(names_.NameFor(make, append.count, "count")), AssignOp::Add, more);
}

std::vector<const Stmt*> Execution::Stores(const Append& append, const Expr* place,
                                           const Expr* condition) {
  std::vector<const Stmt*> stores;
  for (size_t i = 0; i < append.targets().size(); ++i) {
    const Expr* written = append.targets()[i];
    auto* target = builder_.MakeExpr<IndexExpr>(written->span);
    target->base = Expression(BaseOf(written));
    target->indices.emplace_back().value = place;
    target->indices.back().span = append.stmt->span;
    if (const auto* index = DynAs<IndexExpr>(Expression(written)))
      target->indices.insert(target->indices.end(), index->indices.begin(), index->indices.end());
    auto* store = builder_.MakeStmt<AssignStmt>(append.stmt->span);
    store->appends = true;
    store->target = target;
    store->value = Expression(append.values()[i]);
    store->condition = condition;
    stores.push_back(store);
  }
  return stores;
}

const Stmt* Execution::Write(const Append& append, const TreeMaker& make) {
  const Expr* condition = Expression(append.stmt->condition);
  const Expr* next = make.Name(names_.NameFor(make, append.count, "next"));
  const Ident* range = RangeOf(append);
  if (range == nullptr) {
    std::vector<const Stmt*> stmts = Stores(append, next, condition);
    stmts.push_back(make.Assign(next, AssignOp::Add, OneIf(condition, make)));
    return make.Block(std::move(stmts));
  }
  Ident keep = names_.NameFor(make, append.count, "keep");
  Ident place = names_.NameFor(make, append.count, "place");
  auto kept = [&] { return condition == nullptr ? nullptr : make.Name(keep); };
  auto one = [&] { return OneIf(kept(), make); };
  std::vector<const Stmt*> stmts;
  if (condition != nullptr) stmts.push_back(make.Let(keep, condition));
  stmts.push_back(make.Let(
      place, make.Binary(BinaryOp::Add, next, make.Reduce("cumsum", one(), *range, true))));
  for (const Stmt* store : Stores(append, make.Name(place), kept())) stmts.push_back(store);
  TreeMaker at = AtCondition(append);
  const Expr* more = at.As(make.Reduce("sum", one(), *range), at.Type("i64"));
  stmts.push_back(make.Assign(next, AssignOp::Add, more));
  return make.Block(std::move(stmts));
}

/// The loops for one `spmd for`.
class Loops {
 public:
  Loops(Builder& builder, const ForStmt& loop, const AppendSurvey& survey,
        const std::vector<Counted>& counted, const MadeNames& names)
      : builder_(builder),
        loop_(loop),
        survey_(survey),
        counted_(counted),
        names_(names),
        make_(builder, loop.span) {}

  void Add(std::vector<const Stmt*>& body);

 private:
  const Expr* Size(const Expr* extent);
  std::vector<const Expr*> BlockCounts();
  std::vector<const Expr*> BlockNumbers();
  const Expr* BlockCount(const Ident& count) {
    return make_.Element(names_.NameFor(make_, count, "blocks"), BlockNumbers());
  }
  const Stmt* Zeros(const Counted& counted);
  const Stmt* Repeat(bool writes);
  const Stmt* Sums(const Append& append);

  Builder& builder_;
  const ForStmt& loop_;
  const AppendSurvey& survey_;
  const std::vector<Counted>& counted_;
  const MadeNames& names_;
  TreeMaker make_;
};

/// Returns the number of elements of an extent, which may be a pack.
const Expr* Loops::Size(const Expr* extent) {
  const auto* name = DynAs<NameExpr>(extent);
  if (name == nullptr) return TreeCopier(builder_.arena).Expression(extent);
  auto* size = builder_.MakeExpr<NameExpr>(extent->span);
  size->name = name->name;
  return size;
}

std::vector<const Expr*> Loops::BlockCounts() {
  std::vector<const Expr*> counts;
  for (const Binder& binder : loop_.binders) {
    const Expr* size = Size(binder.extent.hi);
    bool has_blocks = IsRange(binder) && binder.extent.by != nullptr;
    counts.push_back(has_blocks ? make_.Call("ceil_div", {size, Size(binder.extent.by)}) : size);
  }
  return counts;
}

std::vector<const Expr*> Loops::BlockNumbers() {
  std::vector<const Expr*> numbers;
  for (const Binder& binder : loop_.binders)
    numbers.push_back(IsRange(binder) ? make_.Field(binder.name, "index")
                                      : make_.Name(binder.name));
  return numbers;
}

/// Returns a loop that fills the output with zeros.
const Stmt* Loops::Zeros(const Counted& counted) {
  TreeMaker make(builder_, counted.output.span);
  std::vector<Binder> binders;
  std::vector<const Expr*> indices;
  for (const Expr* dim : counted.dims) {
    Ident name = names_.NameFor(make, counted.output, fmt::format("{}", indices.size()));
    binders.push_back(make.Blocks(name, TreeCopier(builder_.arena).Expression(dim)));
    indices.push_back(make.Name(name));
  }
  const Stmt* store = make.Assign(make.Element(counted.output, indices), AssignOp::Set,
                                  make.As(make.Int(0), counted.element));
  return make.For(std::move(binders), {store}, true);
}

/// Returns a copy of the loop that counts or writes elements.
const Stmt* Loops::Repeat(bool writes) {
  std::vector<const Stmt*> body;
  for (const Append& append : survey_.appends) {
    const Expr* start = writes ? BlockCount(append.count) : make_.I64(0);
    body.push_back(
        make_.Let(names_.NameFor(make_, append.count, writes ? "next" : "count"), start, true));
  }
  Execution execution(builder_, survey_, names_, writes);
  const auto& copy = As<ForStmt>(execution.Statement(&loop_));
  body.insert(body.end(), copy.body->stmts.begin(), copy.body->stmts.end());
  for (const Append& append : survey_.appends) {
    if (writes) break;
    body.push_back(make_.Assign(BlockCount(append.count), AssignOp::Set,
                                make_.Name(names_.NameFor(make_, append.count, "count"))));
  }
  auto* block = builder_.arena.Make<BlockStmt>(*copy.body);
  block->stmts = std::move(body);
  auto* repeated = builder_.arena.Make<ForStmt>(copy);
  repeated->body = block;
  return repeated;
}

/// Returns a loop with one block, which replaces the count of each block by the sum of the counts before it, checks that
/// the outputs have room, and stores the sum of all counts.
const Stmt* Loops::Sums(const Append& append) {
  TreeMaker make(builder_, append.stmt->span);
  Ident blocks = names_.NameFor(make, append.count, "blocks");
  Ident before = names_.NameFor(make, append.count, "before");
  Ident counts = names_.NameFor(make, append.count, "counts");
  std::vector<const Expr*> sizes = BlockCounts();
  std::vector<const Expr*> indices;
  std::vector<Ident> names;
  for (size_t d = 0; d < sizes.size(); ++d) {
    names.push_back(names_.NameFor(make, append.count, fmt::format("block_{}", d)));
    indices.push_back(make.Name(names.back()));
  }
  const Expr* earlier = make.Binary(BinaryOp::Add, make.Name(before),
                                    make.Reduce("cumsum", make.Name(counts), names.back(), true));
  std::vector<const Stmt*> inner = {
      make.Let(counts, make.Element(blocks, indices)),
      make.Assign(make.Element(blocks, indices), AssignOp::Set, earlier),
      make.Assign(make.Name(before), AssignOp::Add,
                  make.Reduce("sum", make.Name(counts), names.back()))};
  const Stmt* loops = make.For({make.Blocks(names.back(), sizes.back())}, std::move(inner), false);
  for (size_t d = sizes.size() - 1; d-- > 0;) loops = make.ForEach(names[d], sizes[d], {loops});

  std::vector<const Stmt*> body = {make.Let(before, make.I64(0), true), loops};
  for (const Counted& counted : counted_) {
    if (counted.append != &append) continue;
    body.push_back(make.Assert(
        make.Binary(BinaryOp::Le, make.Name(before), Size(counted.dims[0])),
        fmt::format("more elements are appended to {} than fit", counted.output.name.text())));
  }
  body.push_back(make.Assign(make.Element(append.count, {}), AssignOp::Set, make.Name(before)));
  Binder once;
  once.span = append.stmt->span;
  once.name = names_.NameFor(make, append.count, "once");
  once.extent = {{append.stmt->span}, make.Int(0), make.Int(1), nullptr, nullptr};
  return make.For({once}, std::move(body), true);
}

void Loops::Add(std::vector<const Stmt*>& body) {
  for (const Append& append : survey_.appends)
    body.push_back(make_.LocalTensor(names_.NameFor(make_, append.count, "blocks"), BlockCounts()));
  for (const Counted& counted : counted_) {
    bool is_here = std::ranges::any_of(survey_.appends,
                                       [&](auto& append) { return counted.append == &append; });
    if (is_here) body.push_back(Zeros(counted));
  }
  body.push_back(Repeat(false));
  body.push_back(make_.Sync());
  for (const Append& append : survey_.appends) body.push_back(Sums(append));
  body.push_back(make_.Sync());
  body.push_back(Repeat(true));
}

}  // namespace

MadeNames::MadeNames(std::string_view kernel, const std::vector<Counted>& counted) {
  auto is_used = [&](const Ident& base) {
    return kernel.find(fmt::format("{}{}_", prefix_, base.name.text())) != kernel.npos;
  };
  while (std::ranges::any_of(
      counted, [&](const Counted& c) { return is_used(c.output) || is_used(c.count); }))
    prefix_ += '_';
}

Ident MadeNames::NameFor(const TreeMaker& make, const Ident& base, std::string_view role) const {
  return make.Id(fmt::format("{}{}_{}", prefix_, base.name.text(), role));
}

void AddAppendLoops(Builder& builder, const ForStmt& loop, const AppendSurvey& survey,
                    const std::vector<Counted>& counted, const MadeNames& names,
                    std::vector<const Stmt*>& body) {
  Loops(builder, loop, survey, counted, names).Add(body);
}

}  // namespace kdl::syntax
