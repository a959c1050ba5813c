#include <doctest/doctest.h>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/orchestration.h"
#include "codegen/orchestration/writer.h"
#include "codegen_run.h"

namespace kdl::codegen {

namespace {

/// y = a * x on the cores of the launch; a module whose name is no identifier, a parameter that is a C++ word.
constexpr std::string_view kModule = R"(module "my mod"
device @host = "host"
device @npu = "debug?seed=1"

/// y = a * x.
///
/// For any N.
kernel @scale.f32 types(T = f32) dims(%N) {export} (%x: tensor<f32,[N]> in, %y: tensor<f32,[N]> out, %a: f32) {
  %1 = const 1 : i64
  %id = core_id : i64
  %num = core_num : i64
  loop %i in %id .. %N step %num {
    %v = load %x[%i] {edge = proven} : f32
    %w = mul %a, %v : f32
    store %w to %y[%i] {edge = proven}
    yield
  }
  return
}

kernel @scale.f64 types(T = f64) dims(%N) {export} (%x: tensor<f64,[N]> in, %y: tensor<f64,[N]> out, %a: f64) {
  return
}

/// new = (2 * x) * 2^n, by way of npu; nothing where n is negative.
program @work dims(%N) {export} (%x: tensor<f32,[N]> in, %new: tensor<f32,[N]> out, %n: i64) loc("dir/my mod.kdl":9:1+7) {
  %0 = const 0 : i64
  %1 = const 1 : i64
  %4 = const 4 : i64
  %two = const 2.0 : f32
  %h = alloc "h" on @host : tensor<f32,[N]> loc("dir/my mod.kdl":10:5+9)
  %cores = div %N, %4 {text = "N / 4"} : i64 loc("dir/my mod.kdl":11:5+9)
  %c1 = add %cores, %1 : i64 loc("dir/my mod.kdl":12:5+9)
  %10 = launch @scale.f32 on @host queue 0 cores(%c1) (%x, %h, %two) after() : event loc("dir/my mod.kdl":12:5+9)
  %15, %11 = transfer %h to @npu queue 1 after(%10) {cause = "scale (my mod.kdl:15) reads h on npu"} : tensor<f32,[N]>, event loc("dir/my mod.kdl":15:5+9)
  %s = loop %r in %0 .. %n step %1 carry(%factor = %two) loc("dir/my mod.kdl":13:5+9) {
    %f = add %factor, %factor : f32 loc("dir/my mod.kdl":14:9+9)
    yield %f
  } : f32
  %some = ge %n, %0 : bool
  if %some loc("dir/my mod.kdl":15:5+9) {
    %half = const 0.5 : f32
    %t = mul %s, %half : f32 loc("dir/my mod.kdl":16:5+9)
    %g = alloc "g" on @npu : tensor<f32,[N]> loc("dir/my mod.kdl":17:5+9)
    %12 = launch @scale.f32 on @npu queue 1 (%15, %g, %t) after(%11) : event loc("dir/my mod.kdl":18:5+9)
    %16, %13 = transfer %g to @host queue 0 after(%12) {cause = "scale reads g on host"} : tensor<f32,[N]>, event loc("dir/my mod.kdl":19:5+9)
    %one = const 1.0 : f32
    %14 = launch @scale.f32 on @host queue 0 (%16, %new, %one) after(%13) : event loc("dir/my mod.kdl":19:5+9)
    free %g after(%13) loc("dir/my mod.kdl":17:5+9)
    free %16 after(%14)
    yield
  } else {
    yield
  }
  free %15 after()
  free %h after(%11) loc("dir/my mod.kdl":10:5+9)
  return
}
)";

constexpr std::string_view kWork =
    R"(void work(const kdl::Context& context, const kdl::Tensor& x, const kdl::Tensor& new_,
          std::int64_t n, const Devices& devices) {
  const kdl::Device host = context.Select(devices.host);
  const kdl::Device npu = context.Select(devices.npu);
  const kdl::Drain running({host.queue(0), npu.queue(1)});
  const std::int64_t N = x.size(0);
  x.Expect("x: in f32[N]", kdl::f32, {N});
  new_.Expect("new: out f32[N]", kdl::f32, {N});
  const float two = 2.0F;
  kdl::Tensor h = context.Allocate(host, kdl::f32, {N}, "h");  // my mod.kdl:10
  const std::int64_t cores = kdl::Div(N, 4);  // my mod.kdl:11
  const std::int64_t c1 = kdl::Add(cores, 1);  // my mod.kdl:12
  const kdl::Event scale_done = host.queue(0).Launch("my mod.scale", c1, {x, h, two});
  auto [h_on_npu, h_moved] = npu.queue(1).Transfer(h, "scale (my mod.kdl:15) reads h on npu",
                                                   {scale_done});  // my mod.kdl:15
  float factor = two;
  for ([[maybe_unused]] const std::int64_t r : kdl::Steps(0, n)) {  // my mod.kdl:13
    const float f = factor + factor;  // my mod.kdl:14
    factor = f;
  }
  const bool some = n >= 0;
  if (some) {
    const float half = 0.5F;
    const float t = factor * half;  // my mod.kdl:16
    kdl::Tensor g = context.Allocate(npu, kdl::f32, {N}, "g");  // my mod.kdl:17
    const kdl::Event scale_done2 = npu.queue(1).Launch("my mod.scale", KDL_CORES_AUTO,
                                                       {h_on_npu, g, t}, {h_moved});  // my mod.kdl:18
    auto [g_on_host, g_moved] = host.queue(0).Transfer(g, "scale reads g on host", {scale_done2});  // my mod.kdl:19
)";

ir::ReadText Read(std::string text) { return ir::ReadText(std::move(text)); }

/// A folder with the generated files and some of the test's, and what builds there.
class Project {
 public:
  Project() : folder_(TemporaryFolder::Make()) { REQUIRE(folder_.ok()); }
  std::string Path(const std::string& name) const { return folder_->path() + "/" + name; }
  std::string Add(const std::string& name, std::string_view text) const {
    REQUIRE(WriteFileWhole(Path(name), text).ok());
    return Path(name);
  }
  bool Run(std::vector<std::string> command) const { return RunProgram(std::move(command)) == 0; }
  bool Compile(std::vector<std::string> command, const std::string& source) const {
    for (const char* flag : {"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", KDL_INCLUDE_DIR}) {
      command.emplace_back(flag);
    }
    command.push_back(source);
    return Run(command);
  }

 private:
  Result<TemporaryFolder> folder_;
};

constexpr std::string_view kCppCaller = R"(#include <cstdio>
#include <vector>

#include "my mod.h"

int main() {
  kdl::Context context;
  context.Register(kdl_images_my_mod);
  const kdl::Device host = context.Select("host");
  std::vector<float> x = {1, 2, 3, 4, 5};
  std::vector<float> y(5);
  const kdl::Tensor from = context.Wrap(host, x.data(), {5}, "x");
  const kdl::Tensor to = context.Wrap(host, y.data(), {5}, "y");
  my_mod::work(context, from, to, 3);
  for (const float value : y) std::printf("%g ", value);
  my_mod::scale(host.queue(), 2, from, to, -1.0F).Wait();
  std::printf("%g\n", y[4]);
  for (const kdl_transfer& t : context.transfers()) {
    std::printf("%s: %s, %s -> %s, %d\n", t.cause, t.tensor, t.from, t.to, int(t.count));
  }
  my_mod::work(context, from, to, 1, {.npu = "host"});
  std::printf("%g %d\n", y[4], int(host.statistics().launches));
  try {
    my_mod::work(context, from, context.Allocate(host, kdl::f32, {4}), 1);
  } catch (const kdl::Error& error) {
    std::printf("%s\n", error.what());
  }
}
)";

constexpr std::string_view kCppOutput = R"(16 32 48 64 80 -5
scale (my mod.kdl:15) reads h on npu: h, host -> debug?seed=1, 1
scale reads g on host: g, debug?seed=1 -> host, 1
20 6
parameter 'new: out f32[N]' is f32[4]; here it must be f32[5]
)";

constexpr std::string_view kCCaller = R"(#include <stdio.h>

#include "my mod.h"

static int Failed(kdl_error* error) {
  if (error != NULL) printf("%s\n", kdl_error_message(error));
  const int failed = error != NULL;
  kdl_error_free(error);
  return failed;
}

int main(void) {
  kdl_context* context = NULL;
  kdl_device* host = NULL;
  kdl_queue* queue = NULL;
  if (Failed(kdl_context_create(&context))) return 1;
  if (Failed(kdl_context_register_all(context, kdl_images_my_mod))) return 1;
  if (Failed(kdl_select_device(context, "host", &host))) return 1;
  if (Failed(kdl_device_queue(host, 0, &queue))) return 1;
  float x[3] = {1, 2, 3};
  float y[3] = {0, 0, 0};
  const int64_t sizes[1] = {3};
  kdl_array from;
  kdl_array to;
  if (Failed(kdl_array_wrap(host, x, KDL_F32, 1, sizes, NULL, "x", &from))) return 1;
  if (Failed(kdl_array_wrap(host, y, KDL_F32, 1, sizes, NULL, "y", &to))) return 1;
  const my_mod_devices devices = {NULL, "host"};
  if (Failed(my_mod_work(context, &from, &to, 0, &devices))) return 1;
  printf("%g %g %g\n", y[0], y[1], y[2]);
  kdl_arg factor = {NULL, 0x40400000, KDL_F32, {0}};
  kdl_event* done = NULL;
  if (Failed(my_mod_scale(context, queue, 1, &from, &to, factor, NULL, 0, &done))) return 1;
  if (Failed(kdl_event_wait(done, -1))) return 1;
  printf("%g %g %g\n", y[0], y[1], y[2]);
  kdl_event_free(done);
  factor.element = KDL_I32;
  Failed(my_mod_scale(context, queue, 1, &from, &to, factor, NULL, 0, NULL));
  kdl_array_free(&from);
  kdl_array_free(&to);
  kdl_context_destroy(context);
  return 0;
}
)";

}  // namespace

TEST_CASE("a program reads like its source") {
  ir::ReadText read = Read(std::string(kModule));
  REQUIRE_MESSAGE(read.module, read.Errors());
  std::string text = PrintOrchestration(*read.module);
  size_t begin = text.find("void work(");
  REQUIRE(begin != std::string::npos);
  CHECK(text.substr(begin, kWork.size()) == kWork);
  for (int line : {10, 11, 12, 13, 14, 15, 16, 17, 18, 19}) {
    std::string place = "// my mod.kdl:" + std::to_string(line) + "\n";
    size_t first = text.find(place);
    CHECK_MESSAGE(first != std::string::npos, place);
    CHECK_MESSAGE(text.find(place, first + 1) == std::string::npos, place);
  }
}

TEST_CASE("the header has docs, types and parameters as the source has them") {
  ir::ReadText read = Read(std::string(kModule));
  REQUIRE(read.module);
  std::string header = PrintHeader(*read.module);
  CHECK(header.find("/// y = a * x.\n///\n/// For any N.\n/// T is f32 or f64.\n///   x: in T[N]\n"
                    "///   y: out T[N]\n///   a: T\n") != std::string::npos);
  CHECK(header.find("  const char* npu = \"debug?seed=1\";\n") != std::string::npos);
  CHECK(header.find("extern const kdl_image* const kdl_images_my_mod[];\n") != std::string::npos);
}

TEST_CASE("generated code compiles without warnings as C11 and C++20, and runs on two devices") {
  ir::ReadText read = Read(std::string(kModule));
  REQUIRE(read.module);
  Project project;
  project.Add("my mod.h", PrintHeader(*read.module));
  std::string orchestration = project.Add("my mod.orch.cpp", PrintOrchestration(*read.module));
  std::string cpp_caller = project.Add("caller.cpp", kCppCaller);
  std::string c_caller = project.Add("caller.c", kCCaller);
  CHECK(project.Compile({"clang++-19", "-std=c++20", "-fsyntax-only"}, orchestration));
  CHECK(project.Compile({"clang-19", "-std=c11", "-fsyntax-only"}, c_caller));
  REQUIRE(
      project.Compile({"g++", "-std=c++20", "-c", "-o", project.Path("orch.o")}, orchestration));
  REQUIRE(project.Compile({"g++", "-std=c++20", "-c", "-o", project.Path("caller.o")}, cpp_caller));
  REQUIRE(project.Compile({"gcc", "-std=c11", "-c", "-o", project.Path("c_caller.o")}, c_caller));

  Result<Backend> backend = Backend::Create(X86Facts(), 2);
  REQUIRE(backend.ok());
  Result<CompiledModule> compiled = CompileKernels(*backend, *read.module, {});
  REQUIRE(compiled.ok());
  ImagePart part{&*compiled, &backend->facts()};
  std::string kernels = project.Add("kernels.o", compiled->object);
  std::string images =
      project.Add("images.o", CompileImages(*backend, "my mod", {&part, 1}, "KIR"));
  auto output_of = [&](const std::string& caller) {
    std::vector<std::string> link = {"g++",
                                     "-o",
                                     project.Path("program"),
                                     project.Path(caller),
                                     project.Path("orch.o"),
                                     kernels,
                                     images,
                                     KDL_RUNTIME_LIBRARY,
                                     "-ldl",
                                     "-pthread"};
    if (KDL_SANITIZERS[0] != '\0') link.push_back(std::string("-fsanitize=") + KDL_SANITIZERS);
    REQUIRE(project.Run(link));
    CHECK(RunProgram({project.Path("program")}, project.Path("output")) == 0);
    return *ReadFile(project.Path("output"));
  };
  CHECK(output_of("caller.o") == kCppOutput);
  std::string c_output = output_of("c_caller.o");
  CHECK(c_output.substr(0, 13) == "2 4 6\n3 6 9\nl");
  CHECK(c_output.find("launch of 'my mod.scale'") != std::string::npos);
}

TEST_CASE("a program of several types calls the one that its arguments fit") {
  std::string text = "module \"m\"\n";
  for (std::string_view type : {"f32", "f64"}) {
    text += fmt::format(
        "kernel @k.{0} types(T = {0}) dims(%N) {{export}} (%x: tensor<{0},[N]> in, %a: {0}) {{\n  "
        "return\n}}\n"
        "program @p.{0} types(T = {0}) dims(%N) {{export}} (%x: tensor<{0},[N]> in, %a: {0}) {{\n"
        "  %e = launch @k.{0} on @host queue 0 (%x, %a) after() : event\n  return\n}}\n",
        type);
  }
  text.insert(text.find("kernel"), "device @host = \"host\"\n");
  ir::ReadText read = Read(text);
  REQUIRE_MESSAGE(read.module, read.Errors());
  std::string orchestration = PrintOrchestration(*read.module);
  CHECK(orchestration.find("  if (x.element() == kdl::f64 && a.get().element == kdl::f64) {\n"
                           "    return p_f64(context, x, a.As<double>(), devices);\n  }\n") !=
        std::string::npos);
  Project project;
  project.Add("m.h", PrintHeader(*read.module));
  CHECK(project.Compile({"g++", "-std=c++20", "-fsyntax-only"},
                        project.Add("m.orch.cpp", orchestration)));
}

TEST_CASE("a launch that names constants finds its own variant") {
  ir::ReadText read = Read(R"(module "m"
device @host = "host"
kernel @k generics(B = auto) dims(%N) (%x: tensor<f32,[N]> in) {
  return
}
kernel @k.B32 generics(B = 32) dims(%N) (%x: tensor<f32,[N]> in) {
  return
}
program @p dims(%N) {export} (%x: tensor<f32,[N]> in) {
  %e = launch @k on @host queue 0 (%x) after() : event
  %f = launch @k.B32 on @host queue 3 (%x) after(%e) {constants = "B=32"} : event
  return
}
)");
  REQUIRE_MESSAGE(read.module, read.Errors());
  std::string text = PrintOrchestration(*read.module);
  CHECK(text.find("const kdl::Event e = host.queue(0).Launch(\"m.k\", KDL_CORES_AUTO, {x});\n") !=
        std::string::npos);
  CHECK(text.find("host.queue(3).Launch(\"m.k<B=32>\", KDL_CORES_AUTO, {x}, {e});\n") !=
        std::string::npos);
  CHECK(text.find("  const kdl::Drain running({host.queue(0), host.queue(3)});\n") !=
        std::string::npos);
  CHECK(text.find("  running.Wait();\n}\n") != std::string::npos);
}

TEST_CASE("a device that stands for another has its spec") {
  ir::ReadText read = Read(R"(module "m"
device @npu = "cuda?arch=sm_90,@cpu"
device @cpu = "host"
device @twin = "@npu"
device @dsp
kernel @k dims(%N) (%x: tensor<f32,[N]> in) {
  return
}
program @p dims(%N) {export} (%x: tensor<f32,[N]> in) {
  %e = launch @k on @dsp queue 0 (%x) after() : event
  return
}
)");
  REQUIRE_MESSAGE(read.module, read.Errors());
  std::string header = PrintHeader(*read.module);
  CHECK(header.find("  const char* npu = \"cuda?arch=sm_90,host\";\n") != std::string::npos);
  CHECK(header.find("  const char* twin = \"cuda?arch=sm_90,host\";\n") != std::string::npos);
  CHECK(header.find("  const char* dsp = \"\";  // a promise: the caller binds it\n") !=
        std::string::npos);
  std::string text = PrintOrchestration(*read.module);
  CHECK(text.find("context.Select(devices.dsp)") != std::string::npos);
  CHECK(text.find("context.Select(devices.cpu)") == std::string::npos);
}

TEST_CASE("names stay clear of C++'s words and of each other") {
  CppNames names;
  CHECK(names.Pick("x") == "x");
  CHECK(names.Pick("x") == "x2");
  CHECK(names.Pick("x2") == "x22");
  CHECK(names.Pick("new") == "new_");
  CHECK(names.Pick("kdl") == "kdl_");
  CHECK(names.Pick("") == "value");
}

TEST_CASE("lists wrap behind their opening, a comment at the end may stand out") {
  Writer writer;
  writer.Indent();
  writer.List("f(", {"a", "b"}, ");");
  writer.List("g(", {std::string(60, 'x'), std::string(40, 'y')}, ");");
  writer.List("h(", {std::string(90, 'z')}, ");  // a comment that is long");
  writer.List("i(", {}, ");");
  CHECK(writer.Take() == "  f(a, b);\n  g(" + std::string(60, 'x') + ",\n    " +
                             std::string(40, 'y') + ");\n  h(" + std::string(90, 'z') +
                             ");  // a comment that is long\n  i();\n");
  CHECK(Quoted("a\"b\\c\n") == "\"a\\\"b\\\\c\\012\"");
}

}  // namespace kdl::codegen
