#include "host_tracer/cli/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

namespace lazyrt {
namespace {

std::string npy(const std::string& dict, const std::string& data, char major = 1) {
  std::string header = dict;
  header.resize(118, ' ');
  header.back() = '\n';
  std::string bytes = std::string("\x93NUMPY") + major + '\0';
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  if (major > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::vector<float> read_floats(const SampleTensor& tensor) {
  std::vector<float> values(tensor.data.bytes / sizeof(float));
  std::memcpy(values.data(), tensor.data.data, tensor.data.bytes);
  return values;
}

TEST(Npy, ReadsRowMajor) {
  const auto tensor = parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                    floats({1, 2, 3, 4, 5, 6})),
                                "x.npy");
  ASSERT_TRUE(tensor.ok()) << tensor.failure().text;
  EXPECT_EQ(tensor->dtype, DType::kFloat32);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read_floats(*tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, FortranOrderIsTransposed) {
  const auto tensor = parse_npy(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                                    floats({1, 4, 2, 5, 3, 6}), 2),
                                "x.npy");
  ASSERT_TRUE(tensor.ok()) << tensor.failure().text;
  EXPECT_EQ(read_floats(*tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, ScalarsAndEmptyTensors) {
  const auto scalar = parse_npy(
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", floats({7})), "x.npy");
  ASSERT_TRUE(scalar.ok()) << scalar.failure().text;
  EXPECT_TRUE(scalar->shape.empty());
  const auto empty =
      parse_npy(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 3), }", ""), "x.npy");
  ASSERT_TRUE(empty.ok()) << empty.failure().text;
  EXPECT_EQ(empty->data.bytes, 0u);
}

TEST(Npy, DamagedFilesAreNamed) {
  const std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                               floats({1, 2, 3, 4, 5, 6}));
  for (size_t size = 0; size < good.size(); ++size) {
    const auto tensor = parse_npy(good.substr(0, size), "cut.npy");
    ASSERT_FALSE(tensor.ok()) << size;
    EXPECT_NE(tensor.failure().text.find("cut.npy"), std::string::npos);
  }
  EXPECT_FALSE(parse_npy(good + "x", "long.npy").ok());
}

TEST(Npy, DtypesThatLazyrtLacksAreNamed) {
  const auto tensor = parse_npy(
      npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", std::string(8, '\0')),
      "c.npy");
  ASSERT_FALSE(tensor.ok());
  EXPECT_NE(tensor.failure().text.find("<c8"), std::string::npos);
}

TEST(Npy, HugeShapesAreRefused) {
  const auto tensor = parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': "
                                    "(4611686018427387904, 4611686018427387904), }",
                                    ""),
                                "huge.npy");
  EXPECT_FALSE(tensor.ok());
}

TEST(Npy, MissingFileIsNamed) {
  const auto tensor = read_npy("/nonexistent/x.npy");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.failure().error, Error::kNotFound);
}

}  // namespace
}  // namespace lazyrt
