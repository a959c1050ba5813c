#include "codegen/llvm/before_launch/image_tables.h"

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
#include "ir/module.h"
#include "ir/packs.h"
#include "ir/ring.h"
#include "ir/type.h"
#include "kdl/abi_hash.h"  // IWYU pragma: keep: refuses a stale KDL_ABI_HASH
#include "kdl/kernel_abi.h"
#include "kdl/packed_text.hpp"
#include "kdl/version.h"
#include "support/check.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

namespace {

/// Returns text like "T=f32, BM=64".
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

/// Returns the bits of kdl_variant.flags that say which shapes and strides the kernel's tensors have.
int64_t ShapeFlags(const ir::Function& kernel) {
  auto has_packs = [&](const ir::Param& param) {
    return std::ranges::any_of(param.value->type()->dims,
                               [&](Size dim) { return ir::IsPack(kernel, dim); });
  };
  bool has_shapes = ir::HasStrided(kernel) || std::ranges::any_of(kernel.params, has_packs);
  return (ir::IsForStrides(kernel) ? KDL_VARIANT_STRIDES : 0) |
         (has_shapes ? KDL_VARIANT_SHAPES : 0);
}

/// Returns the value of kdl_param_desc.dim_symbol for a dimension.
int64_t DimSymbol(const ir::Function& kernel, Size dim) {
  if (IsConstant(dim)) return KDL_DIM_CONST;
  if (dim->kind != SizeKind::Symbol) return KDL_DIM_DERIVED;
  auto found = std::find(kernel.dims.begin(), kernel.dims.end(), dim->symbol);
  KDL_CHECK(found != kernel.dims.end(), "'{}' is not the name of a size", dim->symbol.text());
  return found - kernel.dims.begin();
}

/// Returns the parameters that the caller passes. The runtime passes the workspace itself.
std::vector<ir::Param> ParamsOfLaunch(const ir::Function& kernel) {
  std::vector<ir::Param> params;
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind != ir::TypeKind::Workspace) params.push_back(param);
  }
  return params;
}

/// Creates the tables of images in an LLVM module.
class ImageBuilder {
 public:
  ImageBuilder(llvm::Module& module, std::string_view module_name)
      : module_(module), abi_(module.getContext()), name_(module_name) {}

  void Build(std::span<const Image> images) {
    auto* ptr = llvm::PointerType::get(context(), 0);
    std::vector<llvm::Constant*> rows;
    rows.reserve(images.size() + 1);
    for (const Image& image : images) rows.push_back(ImageOf(image));
    rows.push_back(llvm::ConstantPointerNull::get(ptr));
    auto* type = llvm::ArrayType::get(ptr, rows.size());
    auto* table = Global(ImagesSymbol(name_), llvm::GlobalValue::ExternalLinkage,
                         llvm::ConstantArray::get(type, rows));
    llvm::GlobalAlias::create(type, 0, llvm::GlobalValue::WeakAnyLinkage, "kdl_module_images",
                              table, &module_);
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

  /// Returns the address of an array, or null if it is empty.
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
        .Set(F::shape, Text(is_tensor ? ir::ShapeText(kernel, param) : ""))
        .Set(F::is_tensor, is_tensor ? 1 : 0)
        .Set(F::direction, kDirections[static_cast<size_t>(param.direction)])
        .Set(F::element, ElementCode(type->scalar))
        .Set(F::flags, (ir::IsStrided(kernel, param) ? KDL_PARAM_STRIDED : 0) |
                           (ir::IsBroadcast(kernel, param) ? KDL_PARAM_BROADCAST : 0))
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
        .Set(F::caller, location.caller)
        .Get();
  }

  /// Returns the address of a constant table with one row for each item.
  template <class Items, class Row>
  llvm::Constant* Table(llvm::Type* type, const Items& items, const Row& row) {
    std::vector<llvm::Constant*> rows;
    rows.reserve(items.size());
    for (const auto& item : items) rows.push_back(row(item));
    return Array(type, rows);
  }

  llvm::Constant* Variant(const ImageRow& row) {
    using F = kdl_variant_fields;
    const KernelCode& code = *row.code;
    const ir::Function& kernel = *code.kernel;
    std::vector<ir::Param> params = ParamsOfLaunch(kernel);
    Record record(abi_.kdl_variant);
    if (row.enters) record.Set(F::entry, FunctionNamed(code.entry));
    if (row.compiled) {
      record.Set(F::dynamic_counter_count, code.dynamic_counter_count)
          .Set(F::scratch_bytes, code.scratch_bytes)
          .Set(F::frame_bytes, code.frame_bytes)
          .Set(F::footprint_bytes, ir::Footprint(kernel));
    }
    if (row.functions.shared_bytes) record.Set(F::shared_bytes, row.functions.shared_bytes);
    if (row.functions.busy_cores) record.Set(F::busy_cores, row.functions.busy_cores);
    if (row.functions.check) record.Set(F::check, row.functions.check);
    int64_t flags = ShapeFlags(kernel);
    if (row.compiled && !code.resumable.empty()) flags |= KDL_VARIANT_SYNC;
    return record.Set(F::flags, flags)
        .Set(F::features, static_cast<int64_t>(row.features))
        .Set(F::symbol, Text(row.symbol))
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

  /// Returns one kdl_kernel row for each kernel, in source order. Variants of one kernel share a row.
  std::vector<llvm::Constant*> Kernels(const Image& image) {
    std::vector<std::string_view> names;
    std::map<std::string_view, std::vector<llvm::Constant*>> variants;
    for (const ImageRow& row : image.rows) {
      std::string_view name = row.code->kernel->base_name();
      if (!variants.contains(name)) names.push_back(name);
      variants[name].push_back(Variant(row));
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

  llvm::Constant* ImageOf(const Image& image) {
    using F = kdl_image_fields;
    std::vector<llvm::Constant*> kernels = Kernels(image);
    Record record(abi_.kdl_image);
    if (!image.payload.empty()) {
      const std::string packed = image.packs_payload ? PackText(image.payload) : "";
      const std::string_view payload = image.packs_payload ? packed : image.payload;
      record.Set(F::payload, Text(payload))
          .Set(F::payload_bytes, static_cast<int64_t>(payload.size()))
          .Set(F::is_packed, int64_t{image.packs_payload});
    }
    return Private(record.Set(F::size, sizeof(kdl_image))
                       .Set(F::version, int64_t{KDL_ABI_VERSION})
                       .Set(F::abi_hash, static_cast<int64_t>(KDL_ABI_HASH))
                       .Set(F::module, Text(name_))
                       .Set(F::compiler, Text("kernelc " KDL_VERSION))
                       .Set(F::kind, Text(image.kind))
                       .Set(F::arch, Text(image.arch))
                       .Set(F::kernels, Array(abi_.kdl_kernel, kernels))
                       .Set(F::kernel_count, static_cast<int64_t>(kernels.size()))
                       .Get());
  }

  llvm::Module& module_;
  AbiTypes abi_;
  std::string_view name_;
  std::map<std::string, llvm::Constant*> texts_;
};

}  // namespace

std::string ImagesSymbol(std::string_view runtime_name) {
  return "kdl_images_" + CIdentifier(runtime_name);
}

void AddImages(llvm::Module& module, std::string_view runtime_name, std::span<const Image> images) {
  ImageBuilder(module, runtime_name).Build(images);
}

}  // namespace kdl::codegen
