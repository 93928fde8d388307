#include "tests/conformance/guarded_tensor.h"

#include <cstring>

#include "kernels/common/element.h"

namespace lazyrt {
namespace {

constexpr uint8_t kPattern = 0xff;  // NaN as float, -1 as index

uint8_t* allocate(size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes) != 0) std::abort();
  std::memset(memory, kPattern, bytes);
  return static_cast<uint8_t*>(memory);
}

bool all_pattern(const uint8_t* p, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (p[i] != kPattern) return false;
  }
  return true;
}

size_t bytes_of(DType dtype, const Shape& shape) {
  return static_cast<size_t>(shape.numel()) * dtype_size(dtype);
}

}  // namespace

GuardedBlock::GuardedBlock(size_t bytes)
    : bytes_(bytes), memory_(allocate(kAlignment + bytes + kTailBytes)) {}

bool GuardedBlock::guards_intact() const {
  return all_pattern(memory_.get(), kAlignment) &&
         all_pattern(memory_.get() + kAlignment + bytes_, kTailBytes);
}

GuardedTensor::GuardedTensor(DType dtype, const Shape& shape) : block_(bytes_of(dtype, shape)) {
  view_ = {dtype == DType::kNone ? nullptr : block_.data(), dtype, shape};
}

double GuardedTensor::at(int64_t i) const {
  double value = 0;
  (void)visit_dtype(AllTypes{}, view_.dtype, [&](auto type) {
    value = convert<double>(view_.as<const typename decltype(type)::type>()[i]);
    return Status();
  });
  return value;
}

void GuardedTensor::set(int64_t i, double value) {
  (void)visit_dtype(AllTypes{}, view_.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    view_.as<T>()[i] = convert<T>(value);
    return Status();
  });
}

GuardedTensor GuardedTensor::clone() const {
  GuardedTensor copy(view_.dtype, view_.shape);
  if (view_.bytes() > 0) std::memcpy(copy.view_.data, view_.data, view_.bytes());
  return copy;
}

}  // namespace lazyrt
