// Taps of values in a device's memory: the bytes that the reference makes, whatever part of the
// nodes the device has and whatever part of the values is tapped.

#include <functional>
#include <map>

#include "tests/device/far_test.h"
#include "tests/support/mixed_bundle.h"

namespace lazyrt {
namespace {

using test::bytes_of;
using test::Far;
using test::far_counts;
using test::far_rules;
using test::Loaded;

/// What taps saw, by node and result.
struct Taken {
  std::function<bool(const TapPoint&)> wanted;
  std::map<std::pair<size_t, size_t>, std::vector<uint8_t>> values;

  Watch watch() {
    Watch w;
    w.context = this;
    w.wants = [](void* self, const TapPoint& point) {
      return static_cast<Taken*>(self)->wanted(point);
    };
    w.take = [](void* self, const TapPoint& point, const TensorView& value) {
      static_cast<Taken*>(self)->values[{point.node, point.result}] = bytes_of(value);
    };
    return w;
  }
};

class FarTaps : public Far {
 protected:
  Taken run(const Backend& backend, std::function<bool(const TapPoint&)> wanted) {
    Taken taken;
    taken.wanted = std::move(wanted);
    const Watch watch = taken.watch();
    SessionOptions options = on(backend);
    options.watch = &watch;
    Session session = test::make(mixed_.method(), options);
    far_counts().reset();
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(session.set_input(0, image_.data(), image_.size() * sizeof(float)).ok());
      EXPECT_TRUE(session.set_input(1, ids_, sizeof(ids_)).ok());
      const Status status = session.run();
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_FALSE(test::far_memory_is_open());
    return taken;
  }

  const Loaded mixed_{test::mixed_bundle(default_ops()), default_ops()};
  const std::vector<float> image_ = test::random_floats(12 * 12 * 3, 5);
  const int64_t ids_[5] = {1, 9, 0, 3, 3};
};

TEST_F(FarTaps, AnySharesOfNodesAndAnyTapsGiveTheSameValues) {
  const Taken all = run(*reference_backend(), [](const TapPoint&) { return true; });
  EXPECT_GT(all.values.size(), 20u);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    take_half(seed % 2 == 0 ? 0 : seed, &random);
    const uint32_t part = random() % 5;
    std::map<std::pair<size_t, size_t>, bool> asked;
    const Taken some = run(far_reference_, [&](const TapPoint& point) {
      return asked[{point.node, point.result}] = random() % 5 <= part;
    });
    for (const auto& [place, value] : all.values) {
      const auto found = some.values.find(place);
      ASSERT_EQ(found != some.values.end(), asked[place]) << place.first;
      if (!asked[place]) continue;
      EXPECT_EQ(found->second, value) << place.first;
    }
  }
}

TEST_F(FarTaps, OnlyTappedNodesEndASegment) {
  const auto segments = [&](std::function<bool(const TapPoint&)> wanted) {
    run(far_reference_, std::move(wanted));
    return far_counts().segments.load() / 2;
  };
  EXPECT_EQ(segments([](const TapPoint&) { return false; }), 1);
  EXPECT_EQ(segments([](const TapPoint& point) { return point.node == 3; }), 2);
  EXPECT_EQ(segments([](const TapPoint& point) { return point.node == 3 || point.node == 4; }), 3);
}

}  // namespace
}  // namespace lazyrt
