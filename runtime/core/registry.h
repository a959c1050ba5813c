// Images and the kernels in them, by name.
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

// A variant with what it belongs to.
struct Candidate {
  const kdl_image* image;
  const kdl_kernel* kernel;
  const kdl_variant* variant;
};

class Registry;

// A kernel as a caller names it; what of it runs on a device is looked up at its first launch there and kept
// until another image is registered.
class Function : public Handle {
 public:
  // The variants that the device can run, the preferred one first; they stay as long as the registry. Fails where
  // there is none. Takes no lock where the last launch was on the same device.
  Error FindCandidates(const Device& device, std::span<const Candidate>* candidates) const {
    const Known* known = latest_.load(std::memory_order_acquire);
    if (known == nullptr || known->device != &device) return LookUp(device, candidates);
    *candidates = known->candidates;
    return nullptr;
  }

  const std::string& name() const { return name_; }
  // For messages: without what tells modules of one name apart.
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
  std::string module_;  // as its images have it
  std::string kernel_;
  std::vector<std::string> constants_;  // "BM=64": those that a variant must have
  // Guarded by the registry's mutex; the list keeps what a launch may still read.
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
  // The only module that has it.
  Error FindModule(const Function& function, std::string* module) const;
  std::vector<Candidate> CandidatesFor(const Function& function, const Device& device) const;
  Error NoCandidate(const Function& function, const Device& device) const;

  mutable std::mutex mutex_;
  std::vector<const kdl_image*> images_;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
};

// The parts of "T=f32, BM=64".
std::vector<std::string_view> ConstantsOf(const kdl_variant& variant);

}  // namespace kdl::runtime
