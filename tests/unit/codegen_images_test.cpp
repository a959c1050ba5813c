#include <doctest/doctest.h>

#include <llvm/IR/DataLayout.h>

#include <algorithm>

#include "codegen/llvm/abi.h"
#include "codegen_run.h"

namespace kdl::codegen {

namespace {

constexpr std::string_view kModule = R"(module "my file"

kernel @scale.f32 types(T = f32) generics(B = 64) dims(%N) {export} (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out, %a: f32) {
  return
}
kernel @scale.f64 types(T = f64) generics(B = 32) dims(%N) {export} (%x: tensor<f64,[N]> in, %y: tensor<f64,[N]> out, %a: f64) {
  return
}
kernel @pad dims(%H, %W) (%x: tensor<i32,[H,16]> in, %y: tensor<i32,[(H + (2*W)),W]> inout) {
  return
}
)";

CompiledModule Compile(const ir::Module& module, const Backend& backend) {
  Result<CompiledModule> compiled = CompileKernels(backend, module, {});
  REQUIRE(compiled.ok());
  return std::move(*compiled);
}

Backend MakeBackend() {
  Result<Backend> backend = Backend::Create(X86Processor(), 2);
  REQUIRE(backend.ok());
  return std::move(*backend);
}

const kdl_kernel& KernelOf(const kdl_image& image, std::string_view name) {
  auto* end = image.kernels + image.kernel_count;
  auto* found =
      std::find_if(image.kernels, end, [&](const kdl_kernel& k) { return k.name == name; });
  REQUIRE(found != end);
  return *found;
}

}  // namespace

TEST_CASE("the structs of the ABI have the offsets that C gives them") {
  llvm::LLVMContext context;
  AbiTypes types(context);
  llvm::DataLayout layout(
      "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128");
  int fields = 0;
#define KDL_STRUCT(name, comment) CHECK(layout.getTypeAllocSize(types.name) == sizeof(name));
#define KDL_FIELD(owner, ctype, kind, name, comment)                                   \
  CHECK(layout.getStructLayout(types.owner)->getElementOffset(owner##_fields::name) == \
        offsetof(owner, name));                                                        \
  ++fields;
#define KDL_ARRAY(owner, ctype, kind, count, name, comment) \
  KDL_FIELD(owner, ctype, kind, name, comment)
#define KDL_NESTED(owner, type, name, comment) KDL_FIELD(owner, type, ptr, name, comment)
#include "kdl/abi.def"
  CHECK(fields > 60);
}

TEST_CASE("an image describes the kernels, variants and parameters of the source") {
  LoadedModule module(std::string(kModule), 1);
  const kdl_image* const* images = module.shared().images("kdl_images_my_file");
  CHECK(images == module.shared().images());
  REQUIRE(images[0]);
  REQUIRE(images[1]);
  CHECK(images[2] == nullptr);
  const kdl_image& host = *images[0];
  CHECK(host.size == sizeof(kdl_image));
  CHECK(host.abi_hash == KDL_ABI_HASH);
  CHECK(std::string(host.module) == "my file");
  CHECK(std::string(host.kind) == "host");
  CHECK(std::string(host.arch) == "x86-64");
  CHECK(host.payload == nullptr);
  REQUIRE(host.kernel_count == 2);

  const kdl_kernel& scale = KernelOf(host, "scale");
  REQUIRE(scale.variant_count == 2);
  CHECK(std::string(scale.variants[0].symbol) == "scale.f32.x86-64-v3");
  CHECK(std::string(scale.variants[0].constants) == "T=f32, B=64");
  CHECK(std::string(scale.variants[1].constants) == "T=f64, B=32");
  CHECK((scale.variants[0].entry != nullptr));
  CHECK((scale.variants[0].check == nullptr));
  REQUIRE(scale.variants[1].param_count == 3);
  const kdl_param_desc* params = scale.variants[1].params;
  CHECK(std::string(params[0].name) == "x");
  CHECK(std::string(params[0].shape) == "[N]");
  CHECK(params[0].is_tensor == 1);
  CHECK(params[0].direction == KDL_IN);
  CHECK(params[0].element == KDL_F64);
  CHECK(params[1].direction == KDL_OUT);
  CHECK(params[2].is_tensor == 0);
  CHECK(std::string(params[2].shape).empty());
  CHECK(params[2].element == KDL_F64);
  REQUIRE(scale.variants[0].dim_count == 1);
  CHECK(std::string(scale.variants[0].dims[0]) == "N");

  const kdl_variant& pad = KernelOf(host, "pad").variants[0];
  CHECK(pad.params[0].dim_symbol[0] == 0);
  CHECK(pad.params[0].dim_symbol[1] == KDL_DIM_CONST);
  CHECK(pad.params[0].dim_const[1] == 16);
  CHECK(pad.params[1].dim_symbol[0] == KDL_DIM_DERIVED);
  CHECK(pad.params[1].dim_symbol[1] == 1);
  CHECK(pad.params[1].direction == KDL_INOUT);

  const kdl_image& reference = *images[1];
  CHECK(std::string(reference.kind) == "reference");
  CHECK(std::string(reference.arch).empty());
  CHECK(std::string(static_cast<const char*>(reference.payload)) == "KIR text");
  CHECK(reference.payload_bytes == 8);
  CHECK((KernelOf(reference, "scale").variants[1].entry == nullptr));
  CHECK(std::string(KernelOf(reference, "scale").variants[1].symbol) == "scale.f64");
}

TEST_CASE("a launch is rejected if a derived dimension has another size") {
  LoadedModule module(std::string(kModule), 2);
  const kdl_variant& pad = module.variant("pad");
  REQUIRE((pad.check != nullptr));
  auto check = [&](int64_t h, int64_t w, int64_t rows, kdl_trap* trap) {
    std::vector<int64_t> dims = {h, w};
    std::vector<kdl_tensor> tensors = {TensorOf(nullptr, {h, 16}), TensorOf(nullptr, {rows, w})};
    kdl_args args = {sizeof(kdl_args), KDL_ABI_VERSION, dims.data(), tensors.data(), nullptr};
    return pad.check(dims.data(), &args, trap);
  };
  kdl_trap trap = {};
  CHECK(check(10, 3, 16, &trap) == KDL_DONE);
  CHECK(check(10, 3, 17, &trap) == KDL_TRAPPED);
  CHECK(trap.code == KDL_TRAP_CONDITION);
  CHECK(trap.index == 17);
  CHECK(trap.bound == 16);
  CHECK(std::string(pad.locations[trap.location].text) == "dimension 0 of y = (H + (2*W))");
  CHECK(check(10, int64_t{1} << 62, 10, &trap) == KDL_TRAPPED);
  CHECK(trap.code == KDL_TRAP_OVERFLOW);
}

TEST_CASE("objects of two modules link together, and the names of two files do not conflict") {
  std::string second(kModule);
  second.replace(second.find("my file"), 7, "other");
  ir::ReadText a{std::string(kModule)};
  ir::ReadText b{second};
  Backend backend = MakeBackend();
  CompiledModule code_a = Compile(*a.module, backend);
  CompiledModule code_b = Compile(*b.module, backend);
  SharedObject both({code_a.object, HostObject(backend, "my file", a.names, code_a, "a"),
                     code_b.object, HostObject(backend, "other", b.names, code_b, "b")});
  const kdl_image& first = *both.images("kdl_images_my_file")[0];
  const kdl_image& other = *both.images("kdl_images_other")[0];
  CHECK(std::string(first.module) == "my file");
  CHECK(std::string(other.module) == "other");
  CHECK((first.kernels[0].variants[0].entry != other.kernels[0].variants[0].entry));
}

TEST_CASE("one object and one image contain the variants for several processors") {
  ir::ReadText read{std::string(kModule)};
  Processor narrow = X86Processor();
  narrow.required_features = 1 << KDL_FEATURE_BIT_X86_AVX2;
  Processor wide = Avx512Processor();
  wide.required_features = 1 << KDL_FEATURE_BIT_X86_AVX512F;
  Backend backend = MakeBackend();
  std::vector<const ir::Function*> kernels = KernelsOf(*read.module);
  KernelSource sources[] = {{read.module.get(), kernels, &narrow},
                            {read.module.get(), kernels, &wide}};
  Result<CompiledModule> code = CompileKernels(backend, sources, {true, true, true});
  REQUIRE(code.ok());
  CHECK(code->llvm_ir.find("\"target-cpu\"=\"x86-64-v3\"") != std::string::npos);
  CHECK(code->llvm_ir.find("\"target-cpu\"=\"x86-64-v4\"") != std::string::npos);
  code->kernels[3].reference = "scale.f32.x86-64-v4";
  code->kernels[3].reference_features = wide.required_features;
  code->kernels[4].reference = "";
  SharedObject shared({code->object, HostObject(backend, "m", read.names, *code, "KIR")});
  const kdl_kernel& scale = KernelOf(*shared.images()[0], "scale");
  REQUIRE(scale.variant_count == 4);
  CHECK(std::string(scale.variants[0].symbol) == "scale.f32.x86-64-v3");
  CHECK(scale.variants[0].features == narrow.required_features);
  CHECK(std::string(scale.variants[2].symbol) == "scale.f32.x86-64-v4");
  CHECK(scale.variants[2].features == wide.required_features);

  const kdl_kernel& reference = KernelOf(*shared.images()[1], "scale");
  REQUIRE(reference.variant_count == 3);
  CHECK(std::string(reference.variants[0].symbol) == "scale.f32");
  CHECK(reference.variants[0].features == 0);
  CHECK(std::string(reference.variants[1].symbol) == "scale.f64");
  CHECK(std::string(reference.variants[2].symbol) == "scale.f32.x86-64-v4");
  CHECK(reference.variants[2].features == wide.required_features);
}

}  // namespace kdl::codegen
