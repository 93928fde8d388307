// Memory that a plan lets values share changes no answer.

#include <gmock/gmock.h>

#include "tests/hostile/agreement.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;
using testing::HasSubstr;

/// x = a + a, then a triangular solve of (`matrix`, x) written over x.
enum class Matrix { kItself, kView, kOther };
BundleParts solution_over_its_right_side(Matrix matrix) {
  BundleParts parts;
  MethodBuilder b(&parts);
  const int a = b.input("a", DType::kFloat32, {4, 4});
  const int x = b.infer(default_ops(), test::add(), {a, a});
  const int m = matrix == Matrix::kItself ? x
                : matrix == Matrix::kView
                    ? b.node(test::reshape({4, 4}), {x}, DType::kFloat32, {4, 4}, x)
                    : b.infer(default_ops(), test::relu(), {a});
  fb::TriangularSolveT solve;
  solve.unit = matrix == Matrix::kOther;  // some of whose diagonal is 0
  b.output("y", b.node(solve, {m, x}, DType::kFloat32, {4, 4}, x));
  return parts;
}

/// The divisor was overwritten by one backend before it was used and by the other after it.
TEST(Sharing, NothingIsWrittenOverAnOperandThatIsAlsoReadOtherwise) {
  for (const Matrix matrix : {Matrix::kItself, Matrix::kView}) {
    const test::AlignedBytes file = test::write_bundle(solution_over_its_right_side(matrix));
    const Status status = Program::load(file.span(), default_ops()).status();
    EXPECT_EQ(status.error(), Error::kInvalidBundle);
    EXPECT_THAT(status.message(), HasSubstr("it writes over value 1, which it reads as input 0"));
  }
  test::expect_agreement(solution_over_its_right_side(Matrix::kOther));
}

}  // namespace
}  // namespace lazyrt
