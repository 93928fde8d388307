#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/lazy/core/ir.h>

#include <string>

namespace lazyrt {

/// Puts our backend and the capture kernels into LibTorch's lazy core, once per process.
/// Returns an empty string, or why it cannot be done (another lazy backend is there already).
std::string install_lazy_backend();

/// Prevents the lazy core from cutting a trace while one lives: raises the limits of its TrimGraph.
class TrimGraphOff {
 public:
  TrimGraphOff();
  ~TrimGraphOff();
  TrimGraphOff(const TrimGraphOff&) = delete;
  TrimGraphOff& operator=(const TrimGraphOff&) = delete;

 private:
  int64_t frequency_;
  int64_t size_;
};

/// A lazy tensor (not functional) of the value.
at::Tensor make_lazy(const torch::lazy::Value& value);

/// The value of a lazy tensor that capture made.
torch::lazy::Value value_of(const at::Tensor& lazy);

/// True for a lazy tensor, functional or not.
bool is_lazy(const at::Tensor& t);

}  // namespace lazyrt
