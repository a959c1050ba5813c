#include <doctest/doctest.h>

#include "targets/builtin.h"
#include "targets/cpu/facts.h"
#include "targets/hosts.h"

namespace kdl::targets {

namespace {

std::string Complaint(std::string_view text) {
  Result<std::vector<Target>> targets = BuiltinFamilies().ParseTargets(text);
  if (targets.ok()) return "none";
  CHECK(targets.failure().kind == FailureKind::Usage);
  return targets.failure().message;
}

/// Returns the only target that the spec names.
Target OnlyTarget(std::string_view text) {
  Result<std::vector<Target>> targets = BuiltinFamilies().ParseTargets(text);
  REQUIRE(targets.ok());
  REQUIRE(targets->size() == 1);
  return std::move(targets->front());
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a spec is parsed and printed as its shortest text") {
  for (const char* text :
       {"host", "host?isa=x86-64-v3", "cuda[1]?arch=sm_90", "debug?seed=7&threads=2"}) {
    Result<Spec> spec = ParseSpec(text);
    REQUIRE(spec.ok());
    CHECK(ToString(*spec) == text);
  }
  CHECK(ToString(*ParseSpec("host[0]")) == "host");
  CHECK(ParseSpec("cuda[12]")->ordinal == 12);
}

TEST_CASE("facts follow from the isa, and only keys of the runtime are passed on") {
  Target target = OnlyTarget("host?threads=4&isa=x86-64-v4");
  CHECK(target.facts->level == "x86-64-v4");
  CHECK(target.facts->arch == "x86-64");
  CHECK(target.facts->vector_bits == 512);
  CHECK(target.facts->exact);
  CHECK(target.device == "host?threads=4&isa=x86-64-v4");
  CHECK(OnlyTarget("host?isa=x86-64-v4&engines=split").device == "host?isa=x86-64-v4");

  Target debug = OnlyTarget("debug?isa=x86-64-v3&seed=7");
  CHECK(debug.facts->level == "x86-64-v3");
  CHECK(debug.device == "debug?isa=x86-64-v3&seed=7");
  CHECK(OnlyTarget("reference?isa=x86-64-v3&sanitize=races+init").device ==
        "reference?sanitize=races+init");
  Target arm = OnlyTarget("host?isa=armv8-a");
  const auto& facts = dynamic_cast<const cpu::ProcessorFacts&>(*arm.facts);
  CHECK(facts.processor.triple == "aarch64-unknown-linux-gnu");
}

TEST_CASE("a spec without an isa means every level of this architecture, the lowest first") {
  for (std::string spec : {"host", "debug?seed=7", "reference"}) {
    Result<std::vector<Target>> targets = BuiltinFamilies().ParseTargets(spec);
    REQUIRE(targets.ok());
    std::vector<std::string> processors;
    for (const Target& target : *targets) {
      processors.push_back(target.facts->level);
      CHECK(target.device == spec);
    }
#ifdef __x86_64__
    CHECK(processors == std::vector<std::string>{"x86-64-v3", "x86-64-v3-vnni", "x86-64-v4",
                                                 "x86-64-v4-vnni", "x86-64-v4-bf16"});
#else
    CHECK(processors == std::vector<std::string>{"armv8-a", "armv8-a-fp16", "armv8-a-dotprod",
                                                 "armv8-a-i8mm", "armv8-a-bf16"});
#endif
  }
}

TEST_CASE("an invalid spec is an error that says what is wrong and what is allowed") {
  CHECK(Has(Complaint("gpu"), "unknown kind 'gpu'; the kinds are: host debug"));
  CHECK(Has(Complaint("host?isa=sse9"), "unknown isa 'sse9'; the known ones are: x86-64-v2"));
  CHECK(Has(Complaint("host?isa="), "'isa=' is not key=value"));
  CHECK(Has(Complaint("host?isa"), "'isa' is not key=value"));
  CHECK(Has(Complaint("host?"), "'' is not key=value"));
  CHECK(Has(Complaint("host?a=1&a=2"), "'a' is given twice"));
  CHECK(Has(Complaint("host[x]"), "is not an ordinal such as [0]"));
  CHECK(Has(Complaint("host[-1]"), "is not an ordinal such as [0]"));
  CHECK(Has(Complaint("host[]"), "is not an ordinal such as [0]"));
  CHECK(Has(Complaint(""), "'' is not a kind of device"));
  CHECK(Has(Complaint("Host"), "unknown kind 'Host'"));
}

}  // namespace kdl::targets
