#include "host_tracer/dynamic/constant_forms.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "host_tracer/passes/pass_util.h"

namespace lazyrt {

std::optional<fb::FullT> full_of(const Value& v) {
  const std::optional<double> value = uniform_value(v);
  if (!value) return std::nullopt;
  fb::FullT full;
  full.dtype = static_cast<fb::DType>(v.dtype);
  full.shape.assign(v.shape.begin(), v.shape.end());
  if (v.dtype == DType::kInt64) {
    std::memcpy(&full.integer, v.constant.data, sizeof full.integer);  // a double has not all of it
  } else if (is_floating(v.dtype)) {
    full.real = *value;
  } else {
    full.integer = static_cast<int64_t>(*value);
  }
  return full;
}

Value element_of(const Value& v, int64_t i) {
  const size_t width = dtype_size(v.dtype);
  Value one = v;
  one.shape = Shape({1});
  one.constant.data += static_cast<size_t>(i) * width;
  one.constant.bytes = width;
  return one;
}

bool is_part(const Value& part, const Value& whole, const std::vector<int64_t>& starts) {
  const size_t width = dtype_size(part.dtype);
  const int rank = part.shape.rank();
  std::vector<int64_t> at(static_cast<size_t>(rank), 0);
  const int64_t row = rank == 0 ? 1 : part.shape[rank - 1];
  const int64_t rows = row == 0 ? 0 : part.shape.numel() / row;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t offset = 0;
    for (int d = 0; d < rank; ++d) {
      const auto i = static_cast<size_t>(d);
      offset = offset * whole.shape[d] + at[i] + starts[i];
    }
    const auto bytes = static_cast<size_t>(row) * width;
    if (std::memcmp(part.constant.data + static_cast<size_t>(r) * bytes,
                    whole.constant.data + static_cast<size_t>(offset) * width, bytes) != 0)
      return false;
    for (int d = rank - 2; d >= 0 && ++at[static_cast<size_t>(d)] == part.shape[d]; --d)
      at[static_cast<size_t>(d)] = 0;
  }
  return true;
}

namespace {

/// The elements, if all are integers that each of these types can hold.
std::optional<std::vector<int64_t>> whole_numbers(const Value& v) {
  if (v.constant.bytes == 0) return std::nullopt;
  const auto count = static_cast<size_t>(v.shape.numel());
  if (v.dtype == DType::kInt64) {
    const auto* x = reinterpret_cast<const int64_t*>(v.constant.data);
    return std::vector<int64_t>(x, x + count);
  }
  if (v.dtype != DType::kInt32 && v.dtype != DType::kFloat32 && v.dtype != DType::kFloat64)
    return std::nullopt;
  std::vector<int64_t> numbers;
  for (const double x : constant_elements(v)) {
    if (x != std::floor(x) || std::abs(x) > 1 << 24 || (x == 0 && std::signbit(x)))
      return std::nullopt;
    numbers.push_back(static_cast<int64_t>(x));
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<int64_t>> ramp_of(const Value& v) {
  const auto numbers = whole_numbers(v);
  if (!numbers) return std::nullopt;
  const std::vector<int64_t>& x = *numbers;
  std::vector<int64_t> ramp = {x[0]};
  int64_t stride = v.shape.numel();
  for (int d = 0; d < v.shape.rank(); ++d) {
    stride /= v.shape[d];
    int64_t step = 0;
    if (v.shape[d] > 1 && __builtin_sub_overflow(x[static_cast<size_t>(stride)], x[0], &step))
      return std::nullopt;
    ramp.push_back(step);
  }
  for (int64_t i = 0; i < v.shape.numel(); ++i) {
    int64_t rest = i, sum = ramp[0];
    for (int d = v.shape.rank(); d-- > 0; rest /= v.shape[d]) {
      int64_t part = 0;
      if (__builtin_mul_overflow(rest % v.shape[d], ramp[static_cast<size_t>(d) + 1], &part) ||
          __builtin_add_overflow(sum, part, &sum))
        return std::nullopt;
    }
    if (sum != x[static_cast<size_t>(i)]) return std::nullopt;
  }
  return ramp;
}

bool varies(const SizedConstant& constant) {
  const Value& first = *constant[0];
  return std::any_of(constant.begin(), constant.end(), [&](const Value* v) {
    return v->dtype != first.dtype || v->shape != first.shape ||
           !same_bytes(v->constant, first.constant);
  });
}

std::vector<int64_t> starts_of(const Value& part, const Value& whole,
                               const std::vector<bool>& at_end) {
  std::vector<int64_t> starts;
  for (int d = 0; d < whole.shape.rank(); ++d) {
    starts.push_back(at_end[static_cast<size_t>(d)] ? whole.shape[d] - part.shape[d] : 0);
  }
  return starts;
}

namespace {

bool fits(const Value& part, const Value& whole, const std::vector<bool>& at_end) {
  for (int d = 0; d < whole.shape.rank(); ++d) {
    if (part.shape[d] > whole.shape[d]) return false;
  }
  return is_part(part, whole, starts_of(part, whole, at_end));
}

}  // namespace

std::optional<SliceForm> slice_of_largest(const SizedConstant& constant) {
  const Value& whole = *constant.back();
  SliceForm form;
  for (const Value* v : constant) {
    if (v->constant.bytes == 0) return std::nullopt;
  }
  for (int d = 0; d < whole.shape.rank(); ++d) {
    const bool same = std::all_of(constant.begin(), constant.end(),
                                  [&](const Value* v) { return v->shape[d] == whole.shape[d]; });
    if (!same) form.varying.push_back(d);
  }
  for (unsigned to_last = 0; to_last < 1u << form.varying.size(); ++to_last) {
    form.at_end.assign(static_cast<size_t>(whole.shape.rank()), false);
    for (size_t i = 0; i < form.varying.size(); ++i) {
      form.at_end[static_cast<size_t>(form.varying[i])] = (to_last >> i & 1) != 0;
    }
    if (std::all_of(constant.begin(), constant.end(),
                    [&](const Value* v) { return fits(*v, whole, form.at_end); }))
      return form;
  }
  return std::nullopt;
}

namespace {

/// Whether float64 numbers equal float32 ones: then they were rounded, and no formula of sizes
/// gives them.
bool were_rounded(const SizedConstant& constant) {
  bool any_broken = false;
  for (const Value* v : constant) {
    if (v->dtype != DType::kFloat64) return false;
    const std::optional<double> value = uniform_value(*v);
    if (!value || static_cast<double>(static_cast<float>(*value)) != *value) return false;
    any_broken = any_broken || *value != std::floor(*value);
  }
  return any_broken;
}

}  // namespace

bool has_form(const SizedConstant& constant) {
  const Value& first = *constant[0];
  const auto all = [&](const auto& is_so) {
    return std::all_of(constant.begin(), constant.end(), is_so);
  };
  if (!all([&](const Value* v) {
        return v->dtype == first.dtype && v->shape.rank() == first.shape.rank();
      }))
    return false;
  if (were_rounded(constant)) return false;
  return all([](const Value* v) { return full_of(*v).has_value(); }) ||
         slice_of_largest(constant).has_value() ||
         all([](const Value* v) { return ramp_of(*v).has_value(); });
}

bool is_repeated(const Value& v, int dim) {
  int64_t outer = 1;
  for (int d = 0; d < dim; ++d) outer *= v.shape[d];
  const int64_t count = v.shape[dim];
  if (outer == 0 || count == 0) return false;
  const size_t slice = v.constant.bytes / static_cast<size_t>(outer * count);
  for (int64_t o = 0; o < outer; ++o) {
    const uint8_t* first = v.constant.data + static_cast<size_t>(o * count) * slice;
    if (std::memcmp(first, first + slice, static_cast<size_t>(count - 1) * slice) != 0)
      return false;
  }
  return true;
}

Value first_slice(const Value& v, int dim) {
  int64_t outer = 1;
  for (int d = 0; d < dim; ++d) outer *= v.shape[d];
  const size_t slice = v.constant.bytes / static_cast<size_t>(outer * v.shape[dim]);
  const auto bytes = static_cast<size_t>(outer) * slice;
  const std::shared_ptr<uint8_t[]> copy(new uint8_t[std::max<size_t>(bytes, 1)]);
  for (int64_t o = 0; o < outer; ++o) {
    std::memcpy(copy.get() + static_cast<size_t>(o) * slice,
                v.constant.data + static_cast<size_t>(o * v.shape[dim]) * slice, slice);
  }
  Value made = v;
  made.shape[dim] = 1;
  made.constant = {copy, copy.get(), bytes};
  return made;
}

}  // namespace lazyrt
