#pragma once

// NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include <cstdint>
#include <string>
#include <vector>

#include "lazyrt/dtype.h"
#include "lazyrt/tensor_view.h"
#include "platforms/posix/lazy_run/element.h"

namespace lazyrt::run {

/// A tensor that owns its row-major bytes.
struct HostTensor {
  DType dtype = DType::kNone;
  Shape shape;
  std::vector<uint8_t> bytes;

  TensorView view() { return {bytes.data(), dtype, shape}; }
};

/// Reads versions 1 to 3, C or Fortran order, little-endian; rank at most kMaxRank. Throws a
/// Failure that names the file (kIo: cannot be read, kUsage: not such a file).
HostTensor read_npy(const std::string& path);
/// `bytes` as the content of a .npy file; `path` is for messages.
HostTensor parse_npy(const std::vector<uint8_t>& bytes, const std::string& path);

/// Writes version 1.0. NumPy has no bfloat16: such a tensor is written as float32. Throws a
/// Failure.
void write_npy(const std::string& path, const TensorView& tensor);

/// Writes all elements as float32, without a header. Throws a Failure.
void write_floats(const std::string& path, const TensorView& tensor);

/// The file's bytes. Throws a Failure.
std::vector<uint8_t> read_file(const std::string& path);
/// Writes an OutputFile. Throws a Failure.
void write_file(const std::string& path, const void* data, size_t bytes);

}  // namespace lazyrt::run
