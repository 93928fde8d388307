// visit_element_size in a file that is compiled for some element types only, as lazyrt_selective
// does.

#define LAZYRT_KEPT_TYPES dtype_set(DType::kFloat32, DType::kBool)
#include <gtest/gtest.h>

#include <string>

#include "kernels/common/element.h"

namespace lazyrt {
namespace {

Status visited_size(size_t bytes, size_t* visited) {
  *visited = 0;
  return visit_element_size(bytes, [visited](auto type) {
    *visited = sizeof(typename decltype(type)::type);
    return Status();
  });
}

TEST(KeptSizes, AreVisited) {
  size_t visited = 0;
  for (const size_t bytes : {1u, 4u}) {
    EXPECT_TRUE(visited_size(bytes, &visited).ok());
    EXPECT_EQ(visited, bytes);
  }
}

TEST(KeptSizes, OthersAreRefusedAndNotPassedOverInSilence) {
  size_t visited = 0;
  for (const size_t bytes : {2u, 8u}) {
    const Status status = visited_size(bytes, &visited);
    EXPECT_EQ(status.error(), Error::kUnsupported);
    EXPECT_NE(std::string(status.message()).find(std::to_string(bytes) + " bytes"),
              std::string::npos);
    EXPECT_EQ(visited, 0u);
  }
}

TEST(KeptSizes, TheVisitorsErrorIsTheAnswer) {
  const auto fail = [](auto) { return Status(Error::kInternal, "as asked"); };
  EXPECT_EQ(visit_element_size(4, fail).error(), Error::kInternal);
}

}  // namespace
}  // namespace lazyrt
