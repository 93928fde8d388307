#include "host_tracer/cli/input_spec.h"

#include <gtest/gtest.h>

namespace lazyrt {
namespace {

TEST(InputSpec, ShapeAndDtype) {
  const auto input = parse_input_spec("x=1,3x4:f32");
  ASSERT_TRUE(input.ok()) << input.failure().text;
  EXPECT_EQ(input->name, "x");
  EXPECT_EQ(input->shape, (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(input->dtype, DType::kFloat32);
  EXPECT_EQ(input->data.data, nullptr);
}

TEST(InputSpec, ScalarAndEmpty) {
  const auto scalar = parse_input_spec("s=:i64");
  ASSERT_TRUE(scalar.ok()) << scalar.failure().text;
  EXPECT_EQ(scalar->dtype, DType::kInt64);
  const auto empty = parse_input_spec("e=0,5:bool");
  ASSERT_TRUE(empty.ok()) << empty.failure().text;
  EXPECT_EQ(empty->shape, (std::vector<int64_t>{0, 5}));
}

TEST(InputSpec, BadFormsAreNamed) {
  const char* const kBad[] = {"x",
                              "=1:f32",
                              "x=1,2",
                              "x=1,2:f31",
                              "x=1,,2:f32",
                              "x=-1:f32",
                              "x=1,:f32",
                              "x=a:f32",
                              "x=4611686018427387904,4:f32",
                              "x=1,1,1,1,1,1,1,1,1:f32"};
  for (const char* text : kBad) {
    const auto input = parse_input_spec(text);
    ASSERT_FALSE(input.ok()) << text;
    EXPECT_EQ(input.failure().error, Error::kInvalidArgument) << text;
  }
}

TEST(InputSpec, Numbers) {
  EXPECT_EQ(parse_input_spec("n=3")->number, SeenNumber(int64_t{3}));
  EXPECT_EQ(parse_input_spec("n=-0.5")->number, SeenNumber(-0.5));
  EXPECT_EQ(parse_input_spec("n=true")->number, SeenNumber(true));
  EXPECT_EQ(parse_input_spec("n=False")->number, SeenNumber(false));
  EXPECT_FALSE(parse_input_spec("x=3:f32")->number);
}

TEST(InputSpec, Samples) {
  const auto sample = parse_sample_spec("x=1,3,8:f32,h.0=2:i64,n=4,d.key=:f32");
  ASSERT_TRUE(sample.ok()) << sample.failure().text;
  ASSERT_EQ(sample->size(), 4u);
  EXPECT_EQ((*sample)[0].shape, (std::vector<int64_t>{1, 3, 8}));
  EXPECT_EQ((*sample)[1].name, "h.0");
  EXPECT_EQ((*sample)[3].name, "d.key");
  EXPECT_FALSE(parse_sample_spec("x=1:f32,x=2:f32").ok());
  EXPECT_FALSE(parse_sample_spec("x=1:f32,").ok());
}

TEST(InputSpec, ASampleOverridesWhatIsCommon) {
  const auto inputs =
      override_inputs(*parse_sample_spec("x=1:f32,y=2:f32"), *parse_sample_spec("y=3:f32,z=4:f32"));
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[1].shape, std::vector<int64_t>{3});
  EXPECT_EQ(inputs[2].name, "z");
}

TEST(InputSpec, SameNameTwice) {
  const auto inputs = parse_input_specs({"x=1:f32", "x=2:f32"});
  ASSERT_FALSE(inputs.ok());
  EXPECT_NE(inputs.failure().text.find("twice"), std::string::npos);
}

}  // namespace
}  // namespace lazyrt
