#include "syntax/build_item.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/build_expr.h"
#include "syntax/build_stmt.h"
#include "syntax/diagnostics.h"
#include "syntax/lower_appends.h"
#include "syntax/lower_four_bits.h"
#include "syntax/unroll.h"

namespace kdl::syntax {

namespace {

std::string_view Word(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::Fn:
      return "fn";
    case FunctionKind::Kernel:
      return "kernel";
    case FunctionKind::Program:
      return "program";
  }
  return {};
}

template <class T>
T* MakeItem(Builder& builder, antlr4::ParserRuleContext* node) {
  T* item = builder.arena.Make<T>();
  item->span = builder.NodeSpan(node);
  return item;
}

Item* BuildImport(Builder& builder, P::ImportItemContext* node) {
  auto* item = MakeItem<ImportItem>(builder, node);
  for (P::NameContext* part : node->name()) item->path.push_back(BuildIdent(builder, part));
  item->name = item->path.back();
  return item;
}

Item* BuildConst(Builder& builder, P::ConstItemContext* node) {
  auto* item = MakeItem<ConstItem>(builder, node);
  item->name = BuildIdent(builder, node->name());
  if (node->type() != nullptr) item->type = BuildType(builder, node->type());
  item->value = BuildExpr(builder, node->expr());
  return item;
}

Item* BuildTypes(Builder& builder, P::TypesItemContext* node) {
  auto* item = MakeItem<TypesItem>(builder, node);
  item->name = BuildIdent(builder, node->name());
  item->types = BuildTypeNames(builder, node->typeNames());
  return item;
}

Item* BuildDevice(Builder& builder, P::DeviceItemContext* node) {
  auto* item = MakeItem<DeviceItem>(builder, node);
  item->name = BuildIdent(builder, node->name());
  if (node->expr() != nullptr) item->value = BuildExpr(builder, node->expr());
  return item;
}

Item* BuildTest(Builder& builder, P::TestItemContext* node) {
  auto* item = MakeItem<TestItem>(builder, node);
  item->title = BuildString(builder, node->STRING())->value;
  item->body = BuildBlock(builder, node->block());
  RefuseAppends(builder, "a test");
  item->program = ProgramOf(builder, *item);
  return item;
}

GenericParam BuildGenericParam(Builder& builder, P::GenericParamContext* node) {
  GenericParam param;
  param.span = builder.NodeSpan(node);
  param.name = BuildIdent(builder, node->name());
  if (P::FunctionTypeContext* written = node->functionType()) {
    auto* function = builder.arena.Make<FunctionType>();
    function->span = builder.NodeSpan(written);
    std::vector<P::TypeContext*> types = written->type();
    for (P::TypeContext* type : types) function->params.push_back(BuildType(builder, type));
    function->result = function->params.back();
    function->params.pop_back();
    param.function = function;
  } else {
    param.kinds = BuildTypeNames(builder, node->typeNames());
  }
  if (node->choices() != nullptr) param.choices = BuildExprs(builder, node->choices()->expr());
  if (node->arith() != nullptr) param.default_value = BuildArith(builder, node->arith());
  return param;
}

Param BuildParam(Builder& builder, P::ParamContext* node, FunctionKind kind) {
  Param param;
  param.span = builder.NodeSpan(node);
  param.name = BuildIdent(builder, node->name());
  if (node->direction() != nullptr) {
    Span span = builder.NodeSpan(node->direction());
    param.direction = FindSpelled(builder.Text(span), Direction::Pop);
    bool pipe_end = param.direction == Direction::Push || param.direction == Direction::Pop;
    if (pipe_end && kind != FunctionKind::Fn) {
      builder.diagnostics.Report(diag::PipeEndParam, span, Spelling(param.direction), Word(kind))
          .Help("declare the pipe in the kernel: pipe q: T[E0, E1];");
    }
  }
  param.type = BuildType(builder, node->type());
  if (P::StridesContext* strides = node->strides())
    param.strides = strides->BROADCAST() != nullptr ? ParamStrides::Broadcast : ParamStrides::Any;
  param.is_optional = node->QUESTION() != nullptr;
  builder.has_type_tests |= param.is_optional;
  param.on = BuildPlacement(builder, node->placement());
  return param;
}

/// Builds the `requires` and `ensures` clauses of a kernel. They must be in this order, and each may occur
/// only once.
void BuildContracts(Builder& builder, const std::vector<P::ContractContext*>& contracts,
                    FunctionItem& item) {
  bool required = false;
  bool ensured = false;
  for (P::ContractContext* contract : contracts) {
    bool requires_word = contract->requirements() != nullptr;
    std::string_view word = requires_word ? "requires" : "ensures";
    std::string fault;
    if (item.function_kind != FunctionKind::Kernel) {
      fault = fmt::format("is not allowed after a {}; only kernels have contracts",
                          Word(item.function_kind));
    } else if (requires_word ? required : ensured) {
      fault = fmt::format("is given twice; put all its conditions into the first one");
    } else if (requires_word && ensured) {
      fault = "must come before `ensures`";
    }
    if (!fault.empty()) {
      Span span = builder.NodeSpan(contract);
      span.end = span.begin + static_cast<uint32_t>(word.size());
      Diagnostic& report = builder.diagnostics.Report(diag::MisplacedContract, span, word, fault);
      if (item.function_kind == FunctionKind::Program)
        report.Help("check the results of programs in a `test`: expect y[i] ~ 2 * x[i];");
    }
    if (requires_word) {
      required = true;
      item.requirements = BuildExprs(builder, contract->requirements()->expr());
      continue;
    }
    ensured = true;
    for (P::EquationContext* equation : contract->guarantees()->equation()) {
      item.ensures.push_back(BuildEquation(builder, equation));
    }
  }
}

Item* BuildFunction(Builder& builder, P::FunctionItemContext* node) {
  auto* item = MakeItem<FunctionItem>(builder, node);
  builder.has_type_tests = false;
  item->function_kind = node->KERNEL() != nullptr    ? FunctionKind::Kernel
                        : node->PROGRAM() != nullptr ? FunctionKind::Program
                                                     : FunctionKind::Fn;
  item->name = BuildIdent(builder, node->name());
  if (P::GenericParamsContext* generics = node->genericParams()) {
    for (P::GenericParamContext* generic : generics->genericParam()) {
      item->generics.push_back(BuildGenericParam(builder, generic));
    }
  }
  for (P::ParamContext* param : node->param()) {
    item->params.push_back(BuildParam(builder, param, item->function_kind));
  }
  if (node->type() != nullptr) {
    item->result = BuildType(builder, node->type());
    if (item->function_kind != FunctionKind::Fn) {
      std::string_view type = builder.Text(item->result->span);
      builder.diagnostics
          .Report(diag::ResultOfKernel, item->result->span, Word(item->function_kind))
          .Help(fmt::format("declare a parameter for it: result: out {}{}", type,
                            type.ends_with(']') ? "" : "[]"));
    }
  }
  if (node->whereClause() != nullptr) {
    item->where = BuildExprs(builder, node->whereClause()->expr());
  }
  item->attributes = BuildAttributes(builder, node->attribute());
  item->body = BuildBlock(builder, node->block());
  BuildContracts(builder, node->contract(), *item);
  item->has_type_tests = builder.has_type_tests;
  LowerFourBits(builder, *item);
  if (item->function_kind != FunctionKind::Kernel) {
    RefuseAppends(builder, fmt::format("a {}", Word(item->function_kind)));
    RefuseCountedSizes(builder, *item);
  } else if (!builder.too_deep) {
    LowerAppends(builder, *item);
  }
  return item;
}

std::string_view WordFor(const Item& item) {
  switch (item.kind) {
    case ItemKind::Import:
      return "an import";
    case ItemKind::Const:
      return "a const";
    case ItemKind::Types:
      return "a list of types";
    case ItemKind::Device:
      return "a device";
    case ItemKind::Test:
      return "a test";
    case ItemKind::Function:
      return "a fn";
  }
  return {};
}

Item* BuildBare(Builder& builder, P::ItemContext* node) {
  if (node->importItem() != nullptr) return BuildImport(builder, node->importItem());
  if (node->constItem() != nullptr) return BuildConst(builder, node->constItem());
  if (node->typesItem() != nullptr) return BuildTypes(builder, node->typesItem());
  if (node->deviceItem() != nullptr) return BuildDevice(builder, node->deviceItem());
  if (node->testItem() != nullptr) return BuildTest(builder, node->testItem());
  return BuildFunction(builder, node->functionItem());
}

}  // namespace

const Item* BuildItem(Builder& builder, P::ItemContext* node, std::string doc) {
  builder.too_deep = false;
  builder.appends.clear();
  Item* item = BuildBare(builder, node);
  item->doc = std::move(doc);
  item->exported = node->EXPORT() != nullptr;
  bool can_export = item->kind == ItemKind::Function || item->kind == ItemKind::Const ||
                    item->kind == ItemKind::Types;
  if (item->exported && !can_export) {
    builder.diagnostics.Report(diag::ExportedItem, builder.NodeSpan(node->EXPORT()), WordFor(*item))
        .Help("remove `export`");
  }
  return item;
}

}  // namespace kdl::syntax
