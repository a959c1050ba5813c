// The checkpoints of a compiled program in C++ on top of checkpoints.h. An application only needs Context::Resume.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "kdl/checkpoints.h"
#include "kdl/runtime.hpp"

namespace kdl::inline KDL_VERSIONED {

// A variable of a program. It must outlive the object.
class Variable {
 public:
  template <class T>
  Variable(T& value) : variable_{&value, ElementOf<T>()} {}  // NOLINT: implicit

  const kdl_variable& get() const { return variable_; }

 private:
  kdl_variable variable_;
};

// The checkpoints of one call of a program.
class Checkpoints {
 public:
  using Tensors = std::initializer_list<Tensor::Parameter>;

  // `ranks` is null if the program has no distributed tensors.
  Checkpoints(const Context& context, kdl_ranks* ranks, const char* program, const char* code,
              std::initializer_list<const char*> files) {
    kdl_checkpoints* checkpoints = nullptr;
    Check(kdl_checkpoints_create(context.get(), ranks, program, code, files.begin(),
                                 static_cast<std::int32_t>(files.size()), &checkpoints));
    checkpoints_.reset(checkpoints);
  }

  // Both wait for the events in `after`, which use the tensors.
  void Restore(const char* file, std::initializer_list<Variable> numbers, Tensors tensors,
               const Queue::After& after, const char* place) const {
    for (const Event& event : after) event.Wait();
    std::vector<kdl_variable> variables;
    for (const Variable& variable : numbers) variables.push_back(variable.get());
    const std::vector<kdl_named_array> arrays = ArraysOf(tensors);
    Check(kdl_checkpoints_restore(checkpoints_.get(), file, variables.data(), Count(variables),
                                  arrays.data(), Count(arrays)),
          place);
  }
  void Write(const char* file, std::int64_t every, std::initializer_list<Argument> numbers,
             Tensors tensors, const Queue::After& after, const char* place) const {
    for (const Event& event : after) event.Wait();
    std::vector<kdl_arg> args;
    for (const Argument& number : numbers) args.push_back(number.get());
    const std::vector<kdl_named_array> arrays = ArraysOf(tensors);
    Check(kdl_checkpoints_write(checkpoints_.get(), file, every, args.data(), Count(args),
                                arrays.data(), Count(arrays)),
          place);
  }

 private:
  static std::vector<kdl_named_array> ArraysOf(Tensors tensors) {
    std::vector<kdl_named_array> arrays;
    for (const Tensor::Parameter& one : tensors) arrays.push_back({one.name, &one.tensor.array()});
    return arrays;
  }
  template <class T>
  static std::int32_t Count(const std::vector<T>& items) {
    return static_cast<std::int32_t>(items.size());
  }

  struct Free {
    void operator()(kdl_checkpoints* checkpoints) const { kdl_checkpoints_free(checkpoints); }
  };
  std::unique_ptr<kdl_checkpoints, Free> checkpoints_;
};

}  // namespace kdl::inline KDL_VERSIONED
