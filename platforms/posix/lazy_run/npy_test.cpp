#include "platforms/posix/lazy_run/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "platforms/posix/lazy_run/failure.h"

namespace lazyrt::run {
namespace {

using testing::HasSubstr;

std::string temp(const std::string& name) {
  return testing::TempDir() + "npy_" + std::to_string(getpid()) + "_" + name;
}

/// A version 1 file with this header and so many bytes of data.
std::vector<uint8_t> file_with(const std::string& header, size_t data_bytes, uint8_t version = 1) {
  std::vector<uint8_t> out = {0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
  out.push_back(static_cast<uint8_t>(header.size() & 255));
  out.push_back(static_cast<uint8_t>(header.size() >> 8));
  if (version > 1) out.insert(out.end(), {0, 0});
  out.insert(out.end(), header.begin(), header.end());
  for (size_t i = 0; i < data_bytes; ++i) out.push_back(static_cast<uint8_t>(i));
  return out;
}

std::string refusal(const std::vector<uint8_t>& bytes) {
  try {
    parse_npy(bytes, "f.npy");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kUsage);
    return failure.what();
  }
  return "accepted";
}

TEST(Npy, WritesWhatItReads) {
  const struct {
    DType dtype;
    Shape shape;
  } cases[] = {{DType::kFloat32, {2, 3}}, {DType::kInt64, {4}},      {DType::kBool, {1, 1, 2}},
               {DType::kFloat64, {}},     {DType::kFloat16, {0, 7}}, {DType::kUInt8, {3}},
               {DType::kInt8, {5}},       {DType::kInt16, {2}},      {DType::kInt32, {1}}};
  for (const auto& c : cases) {
    HostTensor t;
    t.dtype = c.dtype;
    t.shape = c.shape;
    t.bytes.resize(static_cast<size_t>(c.shape.numel()) * dtype_size(c.dtype));
    for (size_t i = 0; i < t.bytes.size(); ++i) t.bytes[i] = static_cast<uint8_t>(i % 2);
    const std::string path = temp("round.npy");
    write_npy(path, t.view());
    const std::vector<uint8_t> file = read_file(path);
    EXPECT_EQ((file.size() - t.bytes.size()) % 64, 0u);
    const HostTensor back = read_npy(path);
    EXPECT_EQ(back.dtype, t.dtype);
    EXPECT_EQ(back.shape, t.shape);
    EXPECT_EQ(back.bytes, t.bytes);
    unlink(path.c_str());
  }
}

TEST(Npy, ReadsVersionsTwoAndThreeAndLooseHeaders) {
  const char* header = "{\"shape\":(2,),\"descr\":\"<i2\" , 'fortran_order' : False}\n";
  for (uint8_t version : {1, 2, 3}) {
    const HostTensor t = parse_npy(file_with(header, 4, version), "f.npy");
    EXPECT_EQ(t.dtype, DType::kInt16);
    EXPECT_EQ(t.shape, Shape({2}));
  }
}

TEST(Npy, TurnsFortranOrderIntoRowMajor) {
  const auto file = file_with("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", 6);
  EXPECT_THAT(parse_npy(file, "f.npy").bytes, testing::ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(Npy, RefusesWhatIsNotATensorFile) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
  EXPECT_EQ(refusal(file_with(good, 8)), "accepted");
  EXPECT_THAT(refusal({}), HasSubstr("not a .npy"));
  EXPECT_THAT(refusal(file_with(good, 7)), HasSubstr("holds 7 bytes"));
  EXPECT_THAT(refusal(file_with(good, 9)), HasSubstr("'f.npy': its header says f32[2]"));
  EXPECT_THAT(refusal(file_with(good, 8, 4)), HasSubstr("version 4"));
  EXPECT_THAT(refusal(file_with("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8)),
              HasSubstr("big-endian"));
  EXPECT_THAT(refusal(file_with("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8)),
              HasSubstr("'<c8' is not supported"));
  EXPECT_THAT(
      refusal(file_with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4)),
      HasSubstr("structured"));
  EXPECT_THAT(refusal(file_with("{'descr': '<f4', 'shape': (2,)}", 8)), HasSubstr("fortran_order"));
  EXPECT_THAT(refusal(file_with("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", 8)),
              HasSubstr("neither"));
  EXPECT_THAT(refusal(file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8)),
              HasSubstr("extent"));
  EXPECT_THAT(refusal(file_with(
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4)),
              HasSubstr("more than 8 dims"));
  EXPECT_THAT(refusal(file_with(
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 4)),
              HasSubstr("too large"));
  EXPECT_THAT(refusal(file_with(
                  "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,8)}", 0)),
              HasSubstr("but it holds 0 bytes"));
}

TEST(Npy, EveryTruncationIsRefused) {
  const auto file = file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8);
  for (size_t n = 0; n < file.size(); ++n) {
    EXPECT_NE(refusal({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n)}), "accepted")
        << n;
  }
}

TEST(Npy, FlippedBitsNeverCrash) {
  const auto good = file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto file = good;
    file[bit / 8] = static_cast<uint8_t>(file[bit / 8] ^ (1u << (bit % 8)));
    refusal(file);
  }
}

TEST(Npy, FilesThatCannotBeUsedAreIoFailures) {
  for (const std::string path : {"/no/such/dir/x.npy", "/"}) {
    try {
      write_file(path, "", 0);
      FAIL();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kIo);
      EXPECT_THAT(failure.what(), HasSubstr(path));
    }
  }
  EXPECT_THROW(read_file("/no/such/file.npy"), Failure);
  EXPECT_THROW(read_file("/"), Failure);
}

TEST(Npy, ElementsWidenExactly) {
  const uint16_t half[] = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x7E00, 0x8000};
  TensorView h = {const_cast<uint16_t*>(half), DType::kFloat16, {6}};
  EXPECT_EQ(element(h, 0), 1);
  EXPECT_EQ(element(h, 1), -2);
  EXPECT_EQ(element(h, 2), std::ldexp(1.0, -24));
  EXPECT_TRUE(std::isinf(element(h, 3)));
  EXPECT_TRUE(std::isnan(element(h, 4)));
  EXPECT_TRUE(std::signbit(element(h, 5)));
  const uint16_t brain[] = {0x3F80, 0xC040};
  const TensorView b = {const_cast<uint16_t*>(brain), DType::kBFloat16, {2}};
  EXPECT_EQ(element(b, 0), 1);
  EXPECT_EQ(element(b, 1), -3);
}

/// More than one piece, and one that is full.
TEST(Npy, FloatsAreWrittenInPieces) {
  const std::string path = testing::TempDir() + "npy_floats_" + std::to_string(getpid());
  for (const size_t count : {size_t{0}, size_t{1}, size_t{4096}, size_t{10000}}) {
    std::vector<uint8_t> bytes(count + 1);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i * 7);
    write_floats(path, {bytes.data(), DType::kUInt8, {static_cast<int64_t>(count)}});
    const std::vector<uint8_t> written = read_file(path);
    ASSERT_EQ(written.size(), count * sizeof(float));
    for (size_t i = 0; i < count; ++i) {
      float x;
      std::memcpy(&x, written.data() + i * sizeof(x), sizeof(x));
      ASSERT_EQ(x, bytes[i]) << i;
    }
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace lazyrt::run
