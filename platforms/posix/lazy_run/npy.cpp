#include "platforms/posix/lazy_run/npy.h"

#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>

#include "platforms/posix/lazy_run/failure.h"
#include "platforms/posix/lazy_run/output_file.h"

namespace lazyrt::run {
namespace {

constexpr uint8_t kMagic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

struct Descr {
  const char* text;
  DType dtype;
};
constexpr Descr kDescrs[] = {
    {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<f2", DType::kFloat16},
    {"|i1", DType::kInt8},    {"|u1", DType::kUInt8},   {"<i2", DType::kInt16},
    {"<i4", DType::kInt32},   {"<i8", DType::kInt64},   {"|b1", DType::kBool},
    {"<i1", DType::kInt8},    {"<u1", DType::kUInt8},   {"<b1", DType::kBool}};

[[noreturn]] void bad(const std::string& path, const std::string& why) {
  throw Failure(ExitCode::kUsage, "'" + path + "': " + why);
}

/// Reads the Python dict literal of the header: quoted keys; values are a string, True/False, a
/// tuple.
class HeaderParser {
 public:
  HeaderParser(const char* text, size_t size, const std::string& path)
      : p_(text), end_(text + size), path_(path) {}

  struct Header {
    std::string descr;
    bool fortran = false;
    Shape shape;
  };

  Header parse() {
    Header header;
    int seen = 0;
    expect('{');
    while (peek() != '}') {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        header.descr = descr();
      } else if (key == "fortran_order") {
        header.fortran = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        bad(path_, ".npy header: unknown key '" + key + "'");
      }
      ++seen;
      if (peek() == ',') ++p_;
    }
    if (seen != 3) bad(path_, ".npy header: needs descr, fortran_order and shape");
    return header;
  }

 private:
  char peek() {
    while (p_ != end_ && std::isspace(static_cast<unsigned char>(*p_))) ++p_;
    return p_ == end_ ? '\0' : *p_;
  }
  void expect(char c) {
    if (peek() != c) bad(path_, std::string(".npy header: '") + c + "' expected");
    ++p_;
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') bad(path_, ".npy header: a quoted word expected");
    std::string out;
    for (++p_; p_ != end_ && *p_ != quote; ++p_) out += *p_;
    if (p_ == end_) bad(path_, ".npy header: it ends in a word");
    ++p_;
    return out;
  }
  std::string descr() {
    if (peek() == '[') bad(path_, "structured arrays are not tensors");
    return quoted();
  }
  bool boolean() {
    peek();
    for (const char* word : {"True", "False"}) {
      const size_t n = std::strlen(word);
      if (static_cast<size_t>(end_ - p_) >= n && std::memcmp(p_, word, n) == 0) {
        p_ += n;
        return *word == 'T';
      }
    }
    bad(path_, ".npy header: fortran_order is neither True nor False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (peek() != ')') {
      if (shape.rank() == kMaxRank) bad(path_, "more than " + std::to_string(kMaxRank) + " dims");
      shape.append(integer());
      if (peek() == ',') ++p_;
    }
    ++p_;
    return shape;
  }
  int64_t integer() {
    if (!std::isdigit(static_cast<unsigned char>(peek()))) bad(path_, ".npy header: bad extent");
    int64_t n = 0;
    for (; p_ != end_ && std::isdigit(static_cast<unsigned char>(*p_)); ++p_) {
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p_ - '0', &n)) {
        bad(path_, ".npy header: an extent is too large");
      }
    }
    return n;
  }

  const char* p_;
  const char* end_;
  const std::string& path_;
};

/// Offset and size of the header's text.
std::pair<size_t, size_t> find_header(const std::vector<uint8_t>& bytes, const std::string& path) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    bad(path, "not a .npy file");
  }
  const int major = bytes[6];
  if (major < 1 || major > 3) bad(path, ".npy version " + std::to_string(major) + " is unknown");
  const size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) bad(path, "the .npy file is truncated");
  size_t size = bytes[8] | size_t{bytes[9]} << 8;
  if (major > 1) size |= size_t{bytes[10]} << 16 | size_t{bytes[11]} << 24;
  if (size > bytes.size() - start) bad(path, "the .npy file is truncated");
  return {start, size};
}

DType dtype_of(const std::string& descr, const std::string& path) {
  for (const Descr& d : kDescrs) {
    if (descr == d.text) return d.dtype;
  }
  const bool big = !descr.empty() && descr[0] == '>';
  bad(path, "NumPy dtype '" + descr + "' " +
                (big ? "is big-endian: save it with .astype('<...')" : "is not supported"));
}

/// Column-major to row-major.
std::vector<uint8_t> from_fortran(const uint8_t* data, const Shape& shape, size_t element) {
  const auto numel = static_cast<size_t>(shape.numel());
  std::vector<uint8_t> out(numel * element);
  Shape index(Span<const int64_t>(shape.data(), shape.size()));
  for (int d = 0; d < shape.rank(); ++d) index[d] = 0;
  for (size_t to = 0; to < numel; ++to) {
    size_t from = 0;
    for (int d = shape.rank(); d-- > 0;) {
      from = from * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
    }
    std::memcpy(out.data() + to * element, data + from * element, element);
    for (int d = shape.rank(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

[[noreturn]] void io_failure(const char* what, const std::string& path) {
  throw Failure(ExitCode::kIo,
                std::string("cannot ") + what + " '" + path + "': " + std::strerror(errno));
}

std::string shape_tuple(const Shape& shape) {
  std::string out = "(";
  for (int64_t d : shape) out += std::to_string(d) + (shape.rank() == 1 ? "," : ", ");
  if (shape.rank() > 1) out.resize(out.size() - 2);
  return out + ")";
}

/// Header padded so that the data begins at a multiple of 64.
std::string npy_header(DType dtype, const Shape& shape) {
  const char* descr = "";
  for (size_t i = std::size(kDescrs); i-- > 0;) {
    if (kDescrs[i].dtype == dtype) descr = kDescrs[i].text;
  }
  std::string dict = std::string("{'descr': '") + descr +
                     "', 'fortran_order': False, 'shape': " + shape_tuple(shape) + ", }";
  while ((10 + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string out(reinterpret_cast<const char*>(kMagic), sizeof(kMagic));
  out += {'\1', '\0', static_cast<char>(dict.size() & 255), static_cast<char>(dict.size() >> 8)};
  return out + dict;
}

/// In pieces: what is widened is not in memory as a whole.
void append_floats(const TensorView& tensor, OutputFile* file) {
  float piece[4096];
  size_t filled = 0;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    piece[filled++] = static_cast<float>(element(tensor, i));
    if (filled < std::size(piece) && i + 1 < tensor.numel()) continue;
    file->write(piece, filled * sizeof(float));
    filled = 0;
  }
}

}  // namespace

HostTensor parse_npy(const std::vector<uint8_t>& bytes, const std::string& path) {
  const auto [start, size] = find_header(bytes, path);
  const auto* text = reinterpret_cast<const char*>(bytes.data() + start);
  const auto header = HeaderParser(text, size, path).parse();
  HostTensor out;
  out.dtype = dtype_of(header.descr, path);
  out.shape = header.shape;
  int64_t numel = 0;
  const size_t element = dtype_size(out.dtype);
  const size_t have = bytes.size() - start - size;
  if (!out.shape.checked_numel(&numel) || static_cast<uint64_t>(numel) > SIZE_MAX / 8 ||
      static_cast<size_t>(numel) * element != have) {
    bad(path, "its header says " + std::string(dtype_name(out.dtype)) + shape_text(out.shape).text +
                  ", but it holds " + std::to_string(have) + " bytes of data");
  }
  const uint8_t* data = bytes.data() + start + size;
  out.bytes = header.fortran ? from_fortran(data, out.shape, element)
                             : std::vector<uint8_t>(data, data + have);
  return out;
}

HostTensor read_npy(const std::string& path) { return parse_npy(read_file(path), path); }

void write_npy(const std::string& path, const TensorView& tensor) {
  const bool widen = tensor.dtype == DType::kBFloat16;
  const std::string header = npy_header(widen ? DType::kFloat32 : tensor.dtype, tensor.shape);
  OutputFile file(path);
  file.write(header.data(), header.size());
  if (widen) {
    append_floats(tensor, &file);
  } else {
    file.write(tensor.data, tensor.bytes());
  }
  file.commit();
}

void write_floats(const std::string& path, const TensorView& tensor) {
  OutputFile file(path);
  append_floats(tensor, &file);
  file.commit();
}

std::vector<uint8_t> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) io_failure("open", path);
  std::vector<uint8_t> out;
  uint8_t buffer[1 << 16];
  for (size_t n = 1; n != 0;) {
    n = std::fread(buffer, 1, sizeof(buffer), file.get());
    out.insert(out.end(), buffer, buffer + n);
  }
  if (std::ferror(file.get()) != 0) io_failure("read", path);
  return out;
}

void write_file(const std::string& path, const void* data, size_t bytes) {
  OutputFile file(path);
  file.write(data, bytes);
  file.commit();
}

}  // namespace lazyrt::run
