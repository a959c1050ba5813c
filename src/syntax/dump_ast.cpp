#include "syntax/dump_ast.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/ast.h"

namespace kdl::syntax {

namespace {

// The words for AssignMode and FunctionKind, indexed by their enumerators.
constexpr std::string_view kAssignWords[] = {"assign", "atomic", "reduce-into"};
constexpr std::string_view kFunctionWords[] = {"fn", "kernel", "program"};

std::string Escaped(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string Joined(const std::vector<Ident>& names) {
  std::string out;
  for (const Ident& name : names) out += " " + name.name.str();
  return out;
}
std::string Joined(const std::vector<TypeName>& types) {
  std::string out;
  for (const TypeName& type : types) out += " " + ToString(type);
  return out;
}

/// Writes a tree. There is one function for each kind of node, which writes an opening line, the children and
/// the closing parenthesis. `role` says which part of its parent a child is, if the child's position does not
/// make this clear.
class Dumper {
 public:
  std::string Take() && { return std::move(out_); }

  void Dump(const Module& module) {
    Open("", "module");
    for (const Item* item : module.items) Dump(item);
    Close();
    out_ += '\n';
  }

 private:
  void Open(std::string_view role, std::string_view head) {
    if (!out_.empty()) out_ += '\n';
    out_.append(2 * depth_++, ' ');
    if (!role.empty()) out_ += fmt::format("{}: ", role);
    out_ += fmt::format("({}", head);
  }
  void Close() {
    --depth_;
    out_ += ')';
  }
  void Leaf(std::string_view role, std::string_view head) {
    Open(role, head);
    Close();
  }

  // ---- Parts

  void Dump(const std::vector<const Expr*>& exprs, std::string_view role = "") {
    for (const Expr* expr : exprs) Dump(expr, role);
  }
  void Dump(const Arg& arg, bool generic = false) {
    std::string name = arg.name.name.str();
    Dump(arg.value, !arg.name ? "" : generic ? fmt::format("<{}>", name) : name + " =");
  }
  void Dump(const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      Open("", "@" + attribute.name.name.str());
      for (const Arg& arg : attribute.args) Dump(arg);
      Close();
    }
  }
  void Dump(const TypeRef* type, std::string_view role = "") {
    if (type == nullptr) return;
    Open(role, type->elements.empty() ? "type " + ToString(type->name) +
                                            (type->has_brackets && type->dims.empty() ? "[]" : "")
                                      : "type");
    Dump(type->dims);
    for (const TypeRef* element : type->elements) Dump(element);
    Close();
  }
  void DumpParts(const Extent& extent) {
    Dump(extent.lo, "lo");
    Dump(extent.hi, "hi");
    Dump(extent.by, "by");
    Dump(extent.step, "step");
  }
  void Dump(const Equation& equation) {
    std::string_view sign = !equation.compared ? "define ="
                            : equation.exact   ? "compare =="
                                               : "compare ~";
    Open("", equation.over.empty() ? std::string(sign)
                                   : fmt::format("{} list over{}", sign, Joined(equation.over)));
    Dump(equation.rtol, "rtol");
    Dump(equation.atol, "atol");
    Dump(equation.lhs);
    Dump(equation.rhs);
    Dump(equation.condition, "where");
    Close();
  }
  void DumpExpected(const Equation& equation) {
    if (equation.rhs == nullptr) return Dump(equation.lhs);
    Dump(equation);
  }
  void Placed(std::string& head, const Ident& device) {
    if (device) head += " on " + device.name.str();
  }
  void DumpDistribution(const Placement& placement) {
    for (const DistributedDim& dim : placement.by) {
      Dump(dim.size, "by");
      Dump(dim.block, "block");
    }
  }

  // ---- Expressions

  void Dump(const Expr* expr, std::string_view role = "") {
    if (expr == nullptr) return;
    switch (expr->kind) {
      case ExprKind::IntLit:
        return Leaf(role, fmt::format("int {}", As<IntLit>(expr).text));
      case ExprKind::FloatLit:
        return Leaf(role, fmt::format("float {}", As<FloatLit>(expr).text));
      case ExprKind::BoolLit:
        return Leaf(role, fmt::format("bool {}", As<BoolLit>(expr).value));
      case ExprKind::StringLit:
        return Leaf(role, "text " + Escaped(As<StringLit>(expr).value));
      case ExprKind::AutoLit:
        return Leaf(role, "auto");
      case ExprKind::Name:
        return Leaf(role, fmt::format("name {}{}", As<NameExpr>(expr).name.text(),
                                      As<NameExpr>(expr).is_pack ? ".." : ""));
      case ExprKind::Unary:
        return Dump(As<UnaryExpr>(expr), role);
      case ExprKind::Binary:
        return Dump(As<BinaryExpr>(expr), role);
      case ExprKind::If:
        return Dump(As<IfExpr>(expr), role);
      case ExprKind::Cast:
        return Dump(As<CastExpr>(expr), role);
      case ExprKind::Call:
        return Dump(As<CallExpr>(expr), role);
      case ExprKind::Reduce:
        return Dump(As<ReduceExpr>(expr), role);
      case ExprKind::Index:
        return Dump(As<IndexExpr>(expr), role);
      case ExprKind::Field:
        return Dump(As<FieldExpr>(expr), role);
      case ExprKind::Tuple:
        return DumpList(As<TupleExpr>(expr).elements, "tuple", role);
      case ExprKind::List:
        return DumpList(As<ListExpr>(expr).elements, "list", role);
      case ExprKind::Type:
        return Dump(As<TypeExpr>(expr).type, role);
      case ExprKind::TypeTest:
        return Leaf(role, fmt::format("{} is{}", ToString(As<TypeTestExpr>(expr).type),
                                      Joined(As<TypeTestExpr>(expr).among)));
      case ExprKind::Move:
        return Dump(As<MoveExpr>(expr), role);
    }
  }
  void DumpList(const std::vector<const Expr*>& elements, const char* head, std::string_view role) {
    Open(role, head);
    Dump(elements);
    Close();
  }
  void Dump(const UnaryExpr& expr, std::string_view role) {
    Open(role, fmt::format("unary {}", Spelling(expr.op)));
    Dump(expr.operand);
    Close();
  }
  void Dump(const BinaryExpr& expr, std::string_view role) {
    Open(role, fmt::format("binary {}", Spelling(expr.op)));
    Dump(expr.lhs);
    Dump(expr.rhs);
    Close();
  }
  void Dump(const IfExpr& expr, std::string_view role) {
    Open(role, "if");
    Dump(expr.condition);
    Dump(expr.then_value, "then");
    Dump(expr.else_value, "else");
    Close();
  }
  void Dump(const CastExpr& expr, std::string_view role) {
    Open(role, "as " + ToString(expr.type));
    Dump(expr.operand);
    Close();
  }
  void Dump(const CallExpr& expr, std::string_view role) {
    Open(role, "call " + expr.callee.name.str());
    Dump(expr.receiver, "receiver");
    for (const Arg& arg : expr.generics) Dump(arg, true);
    for (const Arg& arg : expr.args) Dump(arg);
    Close();
  }
  void Dump(const ReduceExpr& expr, std::string_view role) {
    Open(role, fmt::format("reduce {} over{}{}{}", expr.op.name.text(), Joined(expr.over),
                           expr.reversed ? " reversed" : "", expr.exclusive ? " exclusive" : ""));
    Dump(expr.operands);
    Dump(expr.combine, "with");
    Dump(expr.init, "init");
    Close();
  }
  void Dump(const IndexExpr& expr, std::string_view role) {
    Open(role, "index");
    Dump(expr.base);
    for (const Index& index : expr.indices) {
      Dump(index);
      Dump(index.hi, "..");
    }
    Dump(expr.otherwise, "else");
    Close();
  }
  void Dump(const FieldExpr& expr, std::string_view role) {
    Open(role, expr.name ? "field " + expr.name.name.str() : fmt::format("field {}", expr.index));
    Dump(expr.base);
    Close();
  }
  void Dump(const MoveExpr& expr, std::string_view role) {
    Open(role, "to " + expr.device.name.str());
    Dump(expr.operand);
    Close();
  }

  // ---- Statements: the head, then the attributes, then the contents

  void Dump(const Stmt* stmt, std::string_view role = "") {
    if (stmt == nullptr) return;
    switch (stmt->kind) {
      case StmtKind::Let:
        Dump(As<LetStmt>(stmt));
        break;
      case StmtKind::Assign:
        Dump(As<AssignStmt>(stmt));
        break;
      case StmtKind::Call:
        Begin(*stmt, "call-stmt"), Dump(As<CallStmt>(stmt).call);
        break;
      case StmtKind::Assert:
        Dump(As<AssertStmt>(stmt));
        break;
      case StmtKind::Print:
        Begin(*stmt, "print"), Dump(As<PrintStmt>(stmt).values);
        break;
      case StmtKind::Launch:
        Dump(As<LaunchStmt>(stmt));
        break;
      case StmtKind::Block:
        Dump(As<BlockStmt>(stmt), role);
        break;
      case StmtKind::If:
        Dump(As<IfStmt>(stmt), role);
        break;
      case StmtKind::For:
        Dump(As<ForStmt>(stmt));
        break;
      case StmtKind::While:
        Dump(As<WhileStmt>(stmt));
        break;
      case StmtKind::Break:
        Begin(*stmt, "break");
        break;
      case StmtKind::Continue:
        Begin(*stmt, "continue");
        break;
      case StmtKind::Return:
        Begin(*stmt, "return"), Dump(As<ReturnStmt>(stmt).value);
        break;
      case StmtKind::Range:
        Dump(As<RangeStmt>(stmt));
        break;
      case StmtKind::Domain:
        Dump(As<DomainStmt>(stmt));
        break;
      case StmtKind::Pipe:
        Dump(As<PipeStmt>(stmt));
        break;
      case StmtKind::Stage:
        Dump(As<StageStmt>(stmt));
        break;
      case StmtKind::View:
        Dump(As<ViewStmt>(stmt));
        break;
      case StmtKind::Sync:
        Begin(*stmt, "sync");
        break;
      case StmtKind::Expect:
        Begin(*stmt, "expect"), DumpExpected(As<ExpectStmt>(stmt).equation);
        break;
    }
    Close();
  }
  void Begin(const Stmt& stmt, std::string_view head, std::string_view role = "") {
    Open(role, head);
    Dump(stmt.attributes);
  }
  void Dump(const BlockStmt& stmt, std::string_view role) {
    Begin(stmt, stmt.fused ? "fuse" : "block", role);
    for (const Stmt* inner : stmt.stmts) Dump(inner);
  }
  void Dump(const LetStmt& stmt) {
    std::string head = fmt::format("{} {}", stmt.is_var ? "var" : "let", stmt.name.name.text());
    Placed(head, stmt.on);
    Begin(stmt, head);
    Dump(stmt.type);
    DumpDistribution(stmt.on);
    Dump(stmt.value);
  }
  void Dump(const AssignStmt& stmt) {
    Begin(stmt,
          fmt::format("{} {}", kAssignWords[static_cast<size_t>(stmt.mode)], Spelling(stmt.op)));
    Dump(stmt.target);
    Dump(stmt.value);
    Dump(stmt.condition, "where");
  }
  void Dump(const AssertStmt& stmt) {
    Begin(stmt, stmt.is_static ? "static-assert" : "assert");
    Dump(stmt.condition);
    Dump(stmt.message);
  }
  void Dump(const LaunchStmt& stmt) {
    std::string head = "launch";
    Placed(head, stmt.device);
    Begin(stmt, head);
    for (const Arg& arg : stmt.config) Dump(arg);
    Dump(stmt.queues, "queue");
    Dump(stmt.call);
  }
  void Dump(const IfStmt& stmt, std::string_view role) {
    Begin(stmt, "if-stmt", role);
    Dump(stmt.condition);
    Dump(stmt.then_block, "then");
    Dump(stmt.else_stmt, "else");
  }
  void Dump(const ForStmt& stmt) {
    Begin(stmt, stmt.is_spmd ? "spmd-for" : "for");
    for (const Binder& binder : stmt.binders) {
      Open("", "binder " + binder.name.name.str());
      DumpParts(binder.extent);
      Close();
    }
    Dump(stmt.domain, "domain");
    Dump(stmt.body);
  }
  void Dump(const WhileStmt& stmt) {
    Begin(stmt, "while");
    Dump(stmt.condition);
    Dump(stmt.body);
  }
  void Dump(const RangeStmt& stmt) {
    Begin(stmt, "range " + stmt.name.name.str());
    Dump(stmt.window, "over");
    Dump(stmt.extent, stmt.window != nullptr ? "in" : "");
    Dump(stmt.max, "max");
  }
  void Dump(const DomainStmt& stmt) {
    Begin(stmt, "domain " + stmt.name.name.str());
    for (const Extent& dim : stmt.dims) {
      Open("", "dim");
      DumpParts(dim);
      Close();
    }
  }
  void Dump(const PipeStmt& stmt) {
    Begin(stmt, "pipe " + stmt.name.name.str());
    Dump(stmt.type);
  }
  void Dump(const StageStmt& stmt) {
    Begin(stmt, "stage " + stmt.name.name.str());
    Dump(stmt.body);
  }
  void Dump(const ViewStmt& stmt) {
    Begin(stmt, "view " + stmt.name.name.str());
    Dump(stmt.type);
    Dump(stmt.source);
  }

  // ---- Items

  void Dump(const Item* item) {
    switch (item->kind) {
      case ItemKind::Import:
        Begin(*item, "import" + Joined(As<ImportItem>(item).path));
        break;
      case ItemKind::Const:
        Begin(*item, "const " + item->name.name.str());
        Dump(As<ConstItem>(item).type);
        Dump(As<ConstItem>(item).value);
        break;
      case ItemKind::Types:
        Begin(*item, fmt::format("types {}:{}", item->name.name.text(),
                                 Joined(As<TypesItem>(item).types)));
        break;
      case ItemKind::Function:
        Dump(As<FunctionItem>(item));
        break;
      case ItemKind::Device:
        Begin(*item, "device " + item->name.name.str());
        Dump(As<DeviceItem>(item).value);
        break;
      case ItemKind::Test:
        Begin(*item, "test " + Escaped(As<TestItem>(item).title));
        Dump(As<TestItem>(item).body);
        break;
    }
    Close();
  }
  void Begin(const Item& item, const std::string& head) {
    Open("", item.exported ? head + " export" : head);
    if (!item.doc.empty()) Leaf("", "doc " + Escaped(item.doc));
  }
  void Dump(const FunctionItem& item) {
    Begin(item, fmt::format("{} {}", kFunctionWords[static_cast<size_t>(item.function_kind)],
                            item.name.name.text()));
    for (const GenericParam& generic : item.generics) {
      Open("", fmt::format("generic {}:{}", generic.name.name.text(),
                           generic.function != nullptr ? " fn" : Joined(generic.kinds)));
      if (generic.function != nullptr) {
        for (const TypeRef* type : generic.function->params) Dump(type);
        Dump(generic.function->result, "->");
      }
      Dump(generic.choices, "choice");
      Dump(generic.default_value, "default");
      Close();
    }
    for (const Param& param : item.params) {
      static constexpr std::string_view kStrides[] = {"", " strided", " broadcast"};
      std::string head = fmt::format(
          "param {} {}{}{}", param.name.name.text(), Spelling(param.direction),
          kStrides[static_cast<size_t>(param.strides)], param.is_optional ? " optional" : "");
      Placed(head, param.on);
      Open("", head);
      Dump(param.type);
      DumpDistribution(param.on);
      Close();
    }
    Dump(item.result, "result");
    Dump(item.where, "where");
    Dump(item.attributes);
    Dump(item.body);
    Dump(item.requirements, "requires");
    for (const Equation& equation : item.ensures) Dump(equation);
  }

  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string DumpAst(const Module& module) {
  Dumper dumper;
  dumper.Dump(module);
  return std::move(dumper).Take();
}

}  // namespace kdl::syntax
