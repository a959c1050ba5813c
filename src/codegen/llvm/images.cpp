#include "codegen/llvm/images.h"

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/llvm/abi.h"
#include "codegen/llvm/machine.h"
#include "ir/module.h"
#include "ir/ring.h"
#include "ir/type.h"
#include "kdl/abi_hash.h"  // IWYU pragma: keep: refuses a stale KDL_ABI_HASH
#include "kdl/kernel_abi.h"
#include "support/check.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

int64_t ElementCode(Scalar scalar) {
  struct ElementRow {
    std::string_view spelling;
    int64_t code;
  };
  static constexpr ElementRow kRows[] = {
#define KDL_ELEMENT(ID, spelling, code, bits, comment) {#spelling, code},
#include "kdl/abi.def"
  };
  auto row = std::find_if(std::begin(kRows), std::end(kRows),
                          [&](const ElementRow& r) { return r.spelling == Spelling(scalar); });
  KDL_CHECK(row != std::end(kRows), "{} has no element code", Spelling(scalar));
  return row->code;
}

namespace {

/// "T=f32, BM=64".
std::string ConstantsText(const ir::Function& kernel) {
  std::string text;
  auto add = [&](Name name, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : ", ", name.text(),
                   value);
  };
  for (const ir::TypeBinding& binding : kernel.bindings) {
    add(binding.name, std::string(Spelling(binding.scalar)));
  }
  for (const ir::Generic& generic : kernel.generics) {
    if (!generic.values.empty()) add(generic.name, std::to_string(generic.values[0]));
  }
  return text;
}

/// "[M, K]".
std::string ShapeText(ir::Type type) {
  if (type->kind != ir::TypeKind::Tensor) return "";
  std::string text = "[";
  for (Size dim : type->dims) text += (text.size() > 1 ? ", " : "") + ToString(dim);
  return text + "]";
}

/// kdl_param_desc.dim_symbol of a dimension.
int64_t DimSymbol(const ir::Function& kernel, Size dim) {
  if (IsConstant(dim)) return KDL_DIM_CONST;
  if (dim->kind != SizeKind::Symbol) return KDL_DIM_DERIVED;
  auto found = std::find(kernel.dims.begin(), kernel.dims.end(), dim->symbol);
  KDL_CHECK(found != kernel.dims.end(), "'{}' is no size name", dim->symbol.text());
  return found - kernel.dims.begin();
}

/// What a launch gives; workspace is the runtime's to give.
std::vector<ir::Param> ParamsOfLaunch(const ir::Function& kernel) {
  std::vector<ir::Param> params;
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind != ir::TypeKind::Workspace) params.push_back(param);
  }
  return params;
}

enum class ImageKind : uint8_t { Host, Reference };

/// Fills an LLVM module with tables.
class ImageBuilder {
 public:
  ImageBuilder(llvm::Module& module, std::string_view module_name,
               std::span<const KernelCode> codes)
      : module_(module), abi_(module.getContext()), name_(module_name), codes_(codes) {}

  void Build(std::string_view arch, std::string_view kir_text) {
    auto* ptr = llvm::PointerType::get(context(), 0);
    llvm::Constant* host = Image("host", arch, Kernels(ImageKind::Host), "");
    llvm::Constant* reference = Image("reference", "", Kernels(ImageKind::Reference), kir_text);
    auto* type = llvm::ArrayType::get(ptr, 3);
    auto* images = Global(
        ImagesSymbol(name_), llvm::GlobalValue::ExternalLinkage,
        llvm::ConstantArray::get(type, {host, reference, llvm::ConstantPointerNull::get(ptr)}));
    llvm::GlobalAlias::create(type, 0, llvm::GlobalValue::WeakAnyLinkage, "kdl_module_images",
                              images, &module_);
  }

 private:
  llvm::LLVMContext& context() const { return module_.getContext(); }

  llvm::GlobalVariable* Global(const std::string& name, llvm::GlobalValue::LinkageTypes linkage,
                               llvm::Constant* value) {
    auto* global =
        llvm::cast<llvm::GlobalVariable>(module_.getOrInsertGlobal(name, value->getType()));
    global->setLinkage(linkage);
    global->setInitializer(value);
    global->setConstant(true);
    return global;
  }

  llvm::Constant* Private(llvm::Constant* value) {
    llvm::GlobalVariable* global = Global("", llvm::GlobalValue::PrivateLinkage, value);
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return global;
  }

  llvm::Constant* Text(std::string_view text) {
    auto [place, is_new] = texts_.try_emplace(std::string(text), nullptr);
    if (is_new) place->second = Private(llvm::ConstantDataArray::getString(context(), text));
    return place->second;
  }

  /// The address of an array; null where it is empty.
  llvm::Constant* Array(llvm::Type* element, const std::vector<llvm::Constant*>& values) {
    if (values.empty()) return llvm::ConstantPointerNull::get(llvm::PointerType::get(context(), 0));
    return Private(llvm::ConstantArray::get(llvm::ArrayType::get(element, values.size()), values));
  }

  llvm::Constant* FunctionNamed(const std::string& symbol) {
    auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context()), false);
    auto* function =
        llvm::cast<llvm::Function>(module_.getOrInsertFunction(symbol, type).getCallee());
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return function;
  }

  llvm::Constant* Param(const ir::Function& kernel, const ir::Param& param) {
    using F = kdl_param_desc_fields;
    ir::Type type = param.value->type();
    bool is_tensor = type->kind == ir::TypeKind::Tensor;
    std::vector<int64_t> symbols;
    std::vector<int64_t> constants;
    for (Size dim : type->dims) {
      symbols.push_back(DimSymbol(kernel, dim));
      constants.push_back(IsConstant(dim) ? dim->value : 0);
    }
    static constexpr int64_t kDirections[] = {KDL_IN, KDL_OUT, KDL_INOUT};
    return Record(abi_.kdl_param_desc)
        .Set(F::name, Text(param.value->name().text()))
        .Set(F::shape, Text(ShapeText(type)))
        .Set(F::is_tensor, is_tensor ? 1 : 0)
        .Set(F::direction, kDirections[static_cast<size_t>(param.direction)])
        .Set(F::element, ElementCode(type->scalar))
        .Set(F::rank, static_cast<int64_t>(type->dims.size()))
        .Set(F::dim_symbol, symbols)
        .Set(F::dim_const, constants)
        .Get();
  }

  llvm::Constant* Location(const TrapLocation& location) {
    using F = kdl_location_fields;
    return Record(abi_.kdl_location)
        .Set(F::file, Text(location.file.text()))
        .Set(F::text, Text(location.text.text()))
        .Set(F::line, location.line)
        .Set(F::column, location.column)
        .Set(F::code, location.code)
        .Set(F::dimension, location.dimension)
        .Get();
  }

  /// The address of a table with a row for each item.
  template <class Items, class Row>
  llvm::Constant* Table(llvm::Type* type, const Items& items, const Row& row) {
    std::vector<llvm::Constant*> rows;
    rows.reserve(items.size());
    for (const auto& item : items) rows.push_back(row(item));
    return Array(type, rows);
  }

  llvm::Constant* Variant(ImageKind kind, const KernelCode& code) {
    using F = kdl_variant_fields;
    const ir::Function& kernel = *code.kernel;
    std::vector<ir::Param> params = ParamsOfLaunch(kernel);
    Record record(abi_.kdl_variant);
    bool is_host = kind == ImageKind::Host;
    std::string symbol = is_host ? kernel.name.str() + "." + code.facts->cpu : code.reference;
    if (is_host) {
      record.Set(F::entry, FunctionNamed(code.entry))
          .Set(F::claim_count, code.claim_count)
          .Set(F::scratch_bytes, code.scratch_bytes)
          .Set(F::frame_bytes, code.frame_bytes)
          .Set(F::flags, code.resumable.empty() ? 0 : KDL_VARIANT_SYNC)
          .Set(F::footprint_bytes, ir::Footprint(kernel));
    }
    if (is_host || code.facts != codes_[0].facts)
      record.Set(F::features, static_cast<int64_t>(code.facts->required_features));
    if (!code.shared_bytes.empty()) record.Set(F::shared_bytes, FunctionNamed(code.shared_bytes));
    if (!code.busy_cores.empty()) record.Set(F::busy_cores, FunctionNamed(code.busy_cores));
    if (!code.check.empty()) record.Set(F::check, FunctionNamed(code.check));
    return record.Set(F::symbol, Text(symbol))
        .Set(F::constants, Text(ConstantsText(kernel)))
        .Set(F::params, Table(abi_.kdl_param_desc, params,
                              [&](const ir::Param& p) { return Param(kernel, p); }))
        .Set(F::dims, Table(llvm::PointerType::get(context(), 0), kernel.dims,
                            [&](Name dim) { return Text(dim.text()); }))
        .Set(F::locations, Table(abi_.kdl_location, code.locations,
                                 [&](const TrapLocation& l) { return Location(l); }))
        .Set(F::param_count, static_cast<int64_t>(params.size()))
        .Set(F::dim_count, static_cast<int64_t>(kernel.dims.size()))
        .Set(F::location_count, static_cast<int64_t>(code.locations.size()))
        .Get();
  }

  /// The rows of kdl_kernel, by source name in the order of the source.
  std::vector<llvm::Constant*> Kernels(ImageKind kind) {
    std::vector<std::string_view> names;
    std::map<std::string_view, std::vector<llvm::Constant*>> variants;
    for (const KernelCode& code : codes_) {
      if (kind == ImageKind::Reference && code.reference.empty()) continue;
      std::string_view name = code.kernel->base_name();
      if (!variants.contains(name)) names.push_back(name);
      variants[name].push_back(Variant(kind, code));
    }
    std::vector<llvm::Constant*> kernels;
    for (std::string_view name : names) {
      using F = kdl_kernel_fields;
      kernels.push_back(Record(abi_.kdl_kernel)
                            .Set(F::name, Text(name))
                            .Set(F::variants, Array(abi_.kdl_variant, variants[name]))
                            .Set(F::variant_count, static_cast<int64_t>(variants[name].size()))
                            .Get());
    }
    return kernels;
  }

  llvm::Constant* Image(std::string_view kind, std::string_view arch,
                        const std::vector<llvm::Constant*>& kernels, std::string_view payload) {
    using F = kdl_image_fields;
    Record record(abi_.kdl_image);
    if (!payload.empty()) {
      record.Set(F::payload, Text(payload))
          .Set(F::payload_bytes, static_cast<int64_t>(payload.size()));
    }
    return Private(record.Set(F::size, sizeof(kdl_image))
                       .Set(F::version, KDL_ABI_VERSION)
                       .Set(F::abi_hash, static_cast<int64_t>(KDL_ABI_HASH))
                       .Set(F::module, Text(name_))
                       .Set(F::kind, Text(kind))
                       .Set(F::arch, Text(arch))
                       .Set(F::kernels, Array(abi_.kdl_kernel, kernels))
                       .Set(F::kernel_count, static_cast<int64_t>(kernels.size()))
                       .Get());
  }

  llvm::Module& module_;
  AbiTypes abi_;
  std::string_view name_;
  std::span<const KernelCode> codes_;
  std::map<std::string, llvm::Constant*> texts_;
};

}  // namespace

std::string ImagesSymbol(std::string_view runtime_name) {
  return "kdl_images_" + CIdentifier(runtime_name);
}

std::string CompileImages(const Backend& backend, std::string_view runtime_name,
                          std::span<const KernelCode> kernels, std::string_view kir_text) {
  for (const KernelCode& code : kernels) {
    KDL_CHECK(code.facts->arch == backend.facts().arch, "{} in an image for {}", code.facts->arch,
              backend.facts().arch);
  }
  DoingScope doing(fmt::format("making the images of module {}", runtime_name));
  llvm::LLVMContext context;
  auto module = backend.machine().MakeModule(context, std::string(runtime_name));
  ImageBuilder(*module, runtime_name, kernels).Build(backend.facts().arch, kir_text);
  return backend.machine().Emit(*module, FileType::Object);
}

}  // namespace kdl::codegen
