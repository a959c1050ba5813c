// The registered images, and the kernels in them, by name.
#pragma once

#include <atomic>
#include <forward_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/error.h"

namespace kdl::runtime {

// A variant with its kernel and image.
struct Candidate {
  const kdl_image* image;
  const kdl_kernel* kernel;
  const kdl_variant* variant;
};

class Registry;

// A kernel as a caller names it. The variants for a device are looked up at the first launch on that device.
// They are kept until another image is registered.
class Function : public Handle {
 public:
  // Stores the variants that the device can run, the preferred variant first. They stay valid while the
  // registry exists. Fails if there are no such variants. Takes no lock if the last launch was on the same
  // device.
  Error FindCandidates(const Device& device, std::span<const Candidate>* candidates) const {
    const Known* known = latest_.load(std::memory_order_acquire);
    if (known == nullptr || known->device != &device) return LookUp(device, candidates);
    *candidates = known->candidates;
    return nullptr;
  }

  const std::string& name() const { return name_; }
  // Returns the name for use in messages, which omits the hash of the module's contents.
  std::string shown_name() const;
  const Registry& registry() const { return *registry_; }

 private:
  friend class Registry;
  struct Known {
    const Device* device;
    std::vector<Candidate> candidates;
  };

  Error LookUp(const Device& device, std::span<const Candidate>* candidates) const;

  const Registry* registry_ = nullptr;
  std::string name_;    // as the caller wrote it
  std::string module_;  // as it is written in the module's images
  std::string kernel_;
  std::vector<std::string> constants_;  // constants that a variant must have, such as "BM=64"
  // The members below are guarded by the registry's mutex. Old entries stay in the list, because a launch may
  // still be reading them.
  mutable std::forward_list<Known> all_known_;
  mutable std::map<const Device*, const Known*> known_;
  mutable std::atomic<const Known*> latest_ = nullptr;
};

class Registry {
 public:
  Error Register(const kdl_image* image);
  Error Find(std::string_view name, const Function** function);

 private:
  friend class Function;

  Error CheckImage(const kdl_image& image) const;
  // Stores the name of the only module that contains the kernel. Fails if several modules contain it.
  Error FindModule(const Function& function, std::string* module) const;
  std::vector<Candidate> CandidatesFor(const Function& function, const Device& device) const;
  Error NoCandidate(const Function& function, const Device& device) const;

  mutable std::mutex mutex_;
  std::vector<const kdl_image*> images_;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
};

// Splits the variant's list of constants, such as "T=f32, BM=64".
std::vector<std::string_view> ConstantsOf(const kdl_variant& variant);

}  // namespace kdl::runtime
