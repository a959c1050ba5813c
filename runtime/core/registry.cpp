#include "core/registry.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <set>

#include "core/pack_ranks.h"
#include "kdl/abi_hash.h"
#include "kdl/version.h"

namespace kdl::runtime {

namespace {

template <class Visit>
void ForEachKernel(const std::vector<const kdl_image*>& images, Visit visit) {
  for (const kdl_image* image : images) {
    for (std::int32_t k = 0; k < image->kernel_count; ++k) visit(*image, image->kernels[k]);
  }
}

// Returns the position of the content hash in a module's name, that is, the position of the `#` in
// "ops#1f2e3d4c". If there is no hash, returns the end of the name. A file name may contain '#', too, so only
// the last part is examined.
std::size_t HashAt(std::string_view module) {
  constexpr std::size_t kDigits = 8;
  const std::size_t hash = module.rfind('#');
  if (hash == std::string_view::npos || module.size() - hash != 1 + kDigits) return module.size();
  const bool is_hash = module.find_first_not_of("0123456789abcdef", hash + 1) == module.npos;
  return is_hash ? hash : module.size();
}

// Whether `module` and `name` denote this kernel. The module name "ops" denotes any module of that name.
// "ops#1f2e3d4c" denotes only the module with that content hash.
bool Names(const kdl_image& image, const kdl_kernel& kernel, std::string_view module,
           std::string_view name) {
  if (name != kernel.name) return false;
  const std::string_view own = image.module;
  return module.empty() || module == own || module == own.substr(0, HashAt(own));
}

// Returns the index of the image's architecture in the device's list, which is sorted from best to worst.
// Returns the list's size if the architecture is not in the list.
std::size_t RankOn(const std::vector<std::string_view>& archs, const kdl_image& image) {
  const auto arch = std::find(archs.begin(), archs.end(), std::string_view(image.arch));
  return static_cast<std::size_t>(arch - archs.begin());
}

bool RunsOn(const kdl_image& image, const Device& device) {
  const std::vector<std::string_view> archs = Split(device.facts().arch, ' ');
  return std::string_view(image.kind) == device.facts().image_kind &&
         (std::string_view(image.arch).empty() || RankOn(archs, image) < archs.size());
}

// Whether the constant is the rank of a pack of the kernel, which only says how launches merge dimensions.
bool IsRankOfKernel(const kdl_kernel& kernel, std::string_view constant) {
  return std::any_of(kernel.variants, kernel.variants + kernel.variant_count,
                     [&](const kdl_variant& variant) { return IsRankOfPack(variant, constant); });
}

// Whether the variant has the constants that a name states.
bool HasConstants(const kdl_kernel& kernel, const kdl_variant& variant,
                  const std::vector<std::string>& wanted) {
  const std::vector<std::string_view> has = ConstantsOf(variant);
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& constant) {
    return std::find(has.begin(), has.end(), constant) != has.end() ||
           IsRankOfKernel(kernel, constant);
  });
}

std::string FeatureNames(std::uint64_t features, std::string_view arch) {
  std::vector<std::string> names;
#define KDL_FEATURE(ID, bit, feature_arch, spelling) \
  if ((features >> bit & 1) != 0 && arch == feature_arch) names.push_back(spelling);
#include "kdl/abi.def"
  return JoinWords(names);
}

// Returns an ABI's version and hash as text, such as "0.c3c2444cf8ebbbc5".
std::string AbiName(std::uint32_t version, std::uint64_t hash) {
  char digits[17] = {};
  std::to_chars(std::begin(digits), std::end(digits), hash, 16);
  return Concat(version, ".", digits);
}

// Refuses an image of another ABI version. Before this check, only fields that are the same in all versions
// may be read.
Error CheckVersion(const kdl_image& image) {
  const std::string abi = AbiName(image.version, image.abi_hash);
  const std::string own = AbiName(KDL_ABI_VERSION, KDL_ABI_HASH);
  if (abi == own && image.size == sizeof image) return nullptr;
  const std::string_view module = image.module;
  return Invalid(
      "module '", module.substr(0, HashAt(module)), "' was compiled by ", image.compiler,
      " for ABI ", abi, ", but the runtime of kernelc " KDL_VERSION " has ABI ", own,
      "; compile it with the kernelc " KDL_VERSION
      " that belongs to this runtime, or use it as a shared library that contains its own runtime");
}

}  // namespace

std::vector<std::string_view> ConstantsOf(const kdl_variant& variant) {
  return Split(variant.constants, ',');
}

Error Registry::CheckImage(const kdl_image& image) const {
  KDL_RETURN_IF_ERROR(CheckVersion(image));
  // A module whose name includes a hash of its contents may occur twice, if two libraries contain it.
  const std::string_view module = image.module;
  if (HashAt(module) < module.size()) return nullptr;
  for (const kdl_image* known : images_) {
    if (std::string_view(known->module) != image.module ||
        std::string_view(known->kind) != image.kind ||
        std::string_view(known->arch) != image.arch) {
      continue;
    }
    for (std::int32_t k = 0; k < image.kernel_count; ++k) {
      for (std::int32_t n = 0; n < known->kernel_count; ++n) {
        if (std::string_view(image.kernels[k].name) != known->kernels[n].name) continue;
        return Invalid("kernel '", image.module, ".", image.kernels[k].name,
                       "' is already registered for ", image.kind, " ", image.arch,
                       ", from another image; rename one of the modules");
      }
    }
  }
  return nullptr;
}

Error Registry::Register(const kdl_image* image) {
  if (image == nullptr) return Invalid("registration of a null image");
  const std::lock_guard lock(mutex_);
  if (std::find(images_.begin(), images_.end(), image) != images_.end()) return nullptr;
  KDL_RETURN_IF_ERROR(CheckImage(*image));
  images_.push_back(image);
  for (const auto& [name, function] : functions_) {
    function->known_.clear();
    function->latest_ = nullptr;
  }
  return nullptr;
}

Error Registry::FindModule(const Function& function, std::string* module) const {
  std::set<std::string> modules;
  std::vector<std::string> known;
  ForEachKernel(images_, [&](const kdl_image& image, const kdl_kernel& kernel) {
    known.push_back(kernel.name);
    if (Names(image, kernel, function.module_, function.kernel_)) modules.insert(image.module);
  });
  if (modules.size() == 1) {
    *module = *modules.begin();
    return nullptr;
  }
  if (modules.size() > 1) {
    std::vector<std::string> written;
    for (const std::string& name : modules) written.push_back(name + "." + function.kernel_);
    return Invalid("kernel '", function.kernel_, "' is in several modules; write one of ",
                   JoinWords(written));
  }
  const std::string_view nearest = NearestWord(function.kernel_, known);
  std::string help =
      known.empty() ? "; no module is registered: give the context its kdl_images_… first" : "";
  if (!nearest.empty()) help = Concat("; did you mean '", nearest, "'?");
  if (!function.module_.empty()) help = Concat(" in module '", function.module_, "'", help);
  return Fail(KDL_ERROR_NOT_FOUND, "unknown kernel '", function.kernel_, "'", help);
}

Error Registry::Find(std::string_view name, const Function** function) {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(name); found != functions_.end()) {
    *function = found->second.get();
    return nullptr;
  }
  auto made = std::make_unique<Function>();
  made->registry_ = this;
  made->name_ = name;
  const std::size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) made->module_ = name.substr(0, dot);
  // The module's name comes from a file name, so it may contain dots.
  std::string_view kernel = name.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (const std::size_t open = kernel.find('<'); open != std::string_view::npos) {
    if (kernel.back() != '>') return Invalid("kernel name '", name, "' has no closing '>'");
    for (std::string_view constant : Split(kernel.substr(open + 1, kernel.size() - open - 2), ','))
      made->constants_.emplace_back(constant);
    kernel = kernel.substr(0, open);
  }
  made->kernel_ = kernel;
  // Bind the function to its module now, so that modules that are registered later do not change its meaning.
  KDL_RETURN_IF_ERROR(FindModule(*made, &made->module_));
  *function = made.get();
  functions_.emplace(name, std::move(made));
  return nullptr;
}

std::vector<Candidate> Registry::CandidatesFor(const Function& function,
                                               const Device& device) const {
  std::vector<Candidate> candidates;
  const std::vector<std::string_view> archs = Split(device.facts().arch, ' ');
  ForEachKernel(images_, [&](const kdl_image& image, const kdl_kernel& kernel) {
    if (!Names(image, kernel, function.module_, function.kernel_) || !RunsOn(image, device)) return;
    for (std::int32_t v = 0; v < kernel.variant_count; ++v) {
      const kdl_variant& variant = kernel.variants[v];
      const bool has_features = (variant.features & ~device.facts().features) == 0;
      if (!has_features || !HasConstants(kernel, variant, function.constants_)) continue;
      // Variants for a better architecture, or with more required features, come first. Otherwise the order
      // of registration is kept.
      const std::size_t rank = RankOn(archs, image);
      const auto place =
          std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
            const std::size_t other = RankOn(archs, *candidate.image);
            if (other != rank) return rank < other;
            return std::popcount(candidate.variant->features) < std::popcount(variant.features);
          });
      candidates.insert(place, {&image, &kernel, &variant});
    }
  });
  return candidates;
}

// Returns the error for a kernel without candidates. The error gives the most specific reason.
Error Registry::NoCandidate(const Function& function, const Device& device) const {
  std::set<std::string> kinds;
  std::uint64_t lacking = 0;  // the smallest set of features that any variant lacks
  std::set<std::string> constants;
  ForEachKernel(images_, [&](const kdl_image& image, const kdl_kernel& kernel) {
    if (!Names(image, kernel, function.module_, function.kernel_)) return;
    kinds.insert(Concat(image.kind, std::string_view(image.arch).empty() ? "" : " ", image.arch));
    if (!RunsOn(image, device)) return;
    for (std::int32_t v = 0; v < kernel.variant_count; ++v) {
      const kdl_variant& variant = kernel.variants[v];
      const std::uint64_t its = variant.features & ~device.facts().features;
      if (lacking == 0 || std::popcount(its) < std::popcount(lacking)) lacking = its;
      if (HasConstants(kernel, variant, function.constants_)) continue;
      constants.insert(std::string_view(variant.constants).empty() ? "none" : variant.constants);
    }
  });
  const std::string start =
      Concat("kernel '", function.shown_name(), "' cannot run on ", device.uri(), ": ");
  if (!constants.empty()) {
    return Fail(KDL_ERROR_NOT_FOUND, start, "no variant has these constants; the variants have ",
                JoinWords({constants.begin(), constants.end()}));
  }
  if (lacking != 0) {
    return Fail(KDL_ERROR_UNSUPPORTED, start, "this processor lacks ",
                FeatureNames(lacking, device.facts().arch),
                ", which even the least demanding variant needs");
  }
  const std::string_view arch = device.facts().arch;
  return Fail(KDL_ERROR_NOT_FOUND, start, "it needs code for ", device.facts().image_kind,
              arch.empty() ? "" : " ", arch, ", but this kernel was compiled for ",
              JoinWords({kinds.begin(), kinds.end()}));
}

std::string Function::shown_name() const {
  const std::size_t dot = name_.rfind('.');
  if (dot == std::string::npos) return name_;
  return name_.substr(0, HashAt(std::string_view(name_).substr(0, dot))) + name_.substr(dot);
}

Error Function::LookUp(const Device& device, std::span<const Candidate>* candidates) const {
  const std::lock_guard lock(registry_->mutex_);
  const Known* known = nullptr;
  const auto found = known_.find(&device);
  if (found != known_.end()) {
    known = found->second;
  } else {
    std::vector<Candidate> all = registry_->CandidatesFor(*this, device);
    if (all.empty()) return registry_->NoCandidate(*this, device);
    known = &all_known_.emplace_front(Known{&device, std::move(all)});
    known_.emplace(&device, known);
  }
  latest_.store(known, std::memory_order_release);
  *candidates = known->candidates;
  return nullptr;
}

}  // namespace kdl::runtime
