#include "host_tracer/cli/npy.h"

#include <sys/stat.h>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>

#include "lazyrt/shape.h"

namespace lazyrt {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

Failure bad(const std::string& name, const std::string& what) {
  return {Error::kInvalidArgument, name + ": " + what};
}

/// The dict literal at the head of the file.
struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Text after `'key':` in the dict, or nullptr.
const char* find_value(const std::string& dict, const char* key) {
  for (const char quote : {'\'', '"'}) {
    const size_t at = dict.find(quote + std::string(key) + quote);
    if (at == std::string::npos) continue;
    const size_t colon = dict.find(':', at);
    if (colon == std::string::npos) return nullptr;
    const size_t value = dict.find_first_not_of(' ', colon + 1);
    return value == std::string::npos ? nullptr : dict.c_str() + value;
  }
  return nullptr;
}

bool parse_shape(const char* text, std::vector<int64_t>* shape) {
  if (*text++ != '(') return false;
  for (;;) {
    while (*text == ' ' || *text == ',') ++text;
    if (*text == ')') return true;
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), extent);
    if (error != std::errc() || extent < 0) return false;
    shape->push_back(extent);
    text = end;
  }
}

bool parse_header(const std::string& dict, Header* header) {
  const char* descr = find_value(dict, "descr");
  const char* order = find_value(dict, "fortran_order");
  const char* shape = find_value(dict, "shape");
  if (descr == nullptr || order == nullptr || shape == nullptr) return false;
  const char* end = std::strchr(descr + 1, *descr);
  if ((*descr != '\'' && *descr != '"') || end == nullptr) return false;
  header->descr.assign(descr + 1, end);
  header->fortran = std::strncmp(order, "True", 4) == 0;
  return parse_shape(shape, &header->shape);
}

DType dtype_of_descr(const std::string& descr) {
  static const std::pair<const char*, DType> kKnown[] = {
      {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<f2", DType::kFloat16},
      {"|i1", DType::kInt8},    {"|u1", DType::kUInt8},   {"<i2", DType::kInt16},
      {"<i4", DType::kInt32},   {"<i8", DType::kInt64},   {"|b1", DType::kBool}};
  for (const auto& [text, dtype] : kKnown) {
    if (descr == text) return dtype;
  }
  return DType::kNone;
}

/// Row-major copy of column-major elements.
std::string to_row_major(const std::string& data, const std::vector<int64_t>& shape, size_t size) {
  std::string out(data.size(), '\0');
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t i = 0; i < data.size() / size; ++i) {
    int64_t from = 0;
    for (size_t d = shape.size(); d-- > 0;) from = from * shape[d] + index[d];
    std::memcpy(&out[i * size], &data[static_cast<size_t>(from) * size], size);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
  }
  return out;
}

/// Bytes of length and header, by the format's major version; 0 if the file is too short.
size_t data_offset(const std::string& bytes, size_t* header_at) {
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  if (bytes.size() < 10 || p[6] < 1 || p[6] > 3) return 0;
  *header_at = p[6] == 1 ? 10 : 12;
  if (bytes.size() < *header_at) return 0;
  size_t length = p[8] | static_cast<size_t>(p[9]) << 8;
  if (p[6] > 1) length |= static_cast<size_t>(p[10]) << 16 | static_cast<size_t>(p[11]) << 24;
  return *header_at + length <= bytes.size() ? *header_at + length : 0;
}

}  // namespace

Outcome<SampleTensor> parse_npy(const std::string& bytes, const std::string& name) {
  if (bytes.compare(0, kMagicBytes, kMagic) != 0) return bad(name, "not a .npy file");
  size_t header_at = 0;
  const size_t data_at = data_offset(bytes, &header_at);
  Header header;
  if (data_at == 0 || !parse_header(bytes.substr(header_at, data_at - header_at), &header)) {
    return bad(name, "the .npy header is damaged");
  }
  SampleTensor tensor;
  tensor.dtype = dtype_of_descr(header.descr);
  tensor.shape = header.shape;
  if (tensor.dtype == DType::kNone) {
    return bad(name,
               "dtype " + header.descr + " is not supported (f2 f4 f8 i1 u1 i2 i4 i8 b1 are)");
  }
  if (header.shape.size() > kMaxRank) {
    return bad(name, "rank " + std::to_string(header.shape.size()) + " is above 8");
  }
  int64_t numel = 0;
  const size_t size = dtype_size(tensor.dtype);
  const size_t have = bytes.size() - data_at;
  if (!Shape(header.shape).checked_numel(&numel) || static_cast<uint64_t>(numel) != have / size ||
      have % size != 0) {
    return bad(name, "holds " + std::to_string(have) + " bytes of data, its header says otherwise");
  }
  std::string data = bytes.substr(data_at);
  if (header.fortran) data = to_row_major(data, header.shape, size);
  auto owner = std::make_shared<const std::string>(std::move(data));
  tensor.data = {owner, reinterpret_cast<const uint8_t*>(owner->data()), owner->size()};
  return tensor;
}

Outcome<SampleTensor> read_npy(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return Failure{Error::kNotFound, "no file " + path};
  if (!S_ISREG(status.st_mode)) return Failure{Error::kIo, path + " is not a regular file"};
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return Failure{Error::kIo, "cannot read " + path};
  return parse_npy(bytes, path);
}

}  // namespace lazyrt
