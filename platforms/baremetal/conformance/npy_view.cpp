#include "platforms/baremetal/conformance/npy_view.h"

#include <cstdlib>
#include <cstring>

namespace lazyrt::conformance {
namespace {

struct Descr {
  const char* text;
  DType dtype;
};
constexpr Descr kDescrs[] = {
    {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<f2", DType::kFloat16},
    {"|i1", DType::kInt8},    {"|u1", DType::kUInt8},   {"<i2", DType::kInt16},
    {"<i4", DType::kInt32},   {"<i8", DType::kInt64},   {"|b1", DType::kBool}};
constexpr size_t kFixedBytes = 10;

Status bad() { return Status(Error::kInvalidArgument, "no .npy file of version 1"); }

/// The text behind `key` in the header, which ends at `end`.
const char* value_of(const char* header, const char* end, const char* key) {
  const size_t length = std::strlen(key);
  for (const char* p = header; p + length < end; ++p) {
    if (std::memcmp(p, key, length) == 0) return p + length;
  }
  return nullptr;
}

bool read_shape(const char* text, const char* end, Shape* shape) {
  while (text < end && *text != ')') {
    if (*text < '0' || *text > '9') {
      ++text;
      continue;
    }
    if (shape->rank() == kMaxRank) return false;
    char* behind = nullptr;
    shape->append(std::strtol(text, &behind, 10));
    text = behind;
  }
  return text < end;
}

}  // namespace

Status view_npy(Span<const uint8_t> file, TensorView* view) {
  if (file.size() < kFixedBytes || std::memcmp(file.data(), "\x93NUMPY\x01", 7) != 0) return bad();
  const size_t length = file.data()[8] + 256u * file.data()[9];
  if (file.size() - kFixedBytes < length) return bad();
  const auto* header = reinterpret_cast<const char*>(file.data()) + kFixedBytes;
  const char* end = header + length;
  const char* descr = value_of(header, end, "'descr': '");
  const char* shape = value_of(header, end, "'shape': (");
  if (descr == nullptr || shape == nullptr ||
      value_of(header, end, "'fortran_order': False") == nullptr) {
    return bad();
  }
  *view = TensorView();
  for (const Descr& known : kDescrs) {
    if (std::memcmp(descr, known.text, 3) == 0) view->dtype = known.dtype;
  }
  if (view->dtype == DType::kNone || !read_shape(shape, end, &view->shape)) return bad();
  view->data = const_cast<char*>(end);
  return view->bytes() == file.size() - kFixedBytes - length ? Status() : bad();
}

}  // namespace lazyrt::conformance
