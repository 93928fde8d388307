// Patches that write into another variant's tables: a file with such is refused, or every size of
// it is the program that was checked, run and tapped.

#include <gmock/gmock.h>

#include "tests/hostile/agreement.h"
#include "tests/support/free_layout.h"

namespace lazyrt {
namespace {

using test::BundleParts;
using test::MethodBuilder;

constexpr size_t kSpareSlots = 4;

fb::FullT full_of(std::vector<int64_t> shape, DType dtype) {
  fb::FullT t;
  t.shape = std::move(shape);
  t.dtype = static_cast<fb::DType>(dtype);
  t.real = 1;
  return t;
}

/// Two variants of x f32[n] -> y f32, n from 1 to 8. The first one's guard turns every run away;
/// its node 0, whose table lies before all of the second one, is what writes. The second one's
/// nodes are relu and top_k, y the largest number or, `wide`, `wide` ones.
BundleParts two_variants(int64_t wide) {
  BundleParts parts;
  for (const int64_t n : {4, 2}) {
    MethodBuilder b(&parts);
    const int x = b.input("x", DType::kFloat32, {n});
    fb::MethodT& m = b.method();
    m.symbols.push_back(std::make_unique<fb::SymbolT>());
    m.symbols[0]->name = "n";
    m.symbols[0]->max = 8;
    m.values[0]->symbols = {0};
    fb::TopKT top;
    top.k = 1;
    if (n == 4) {
      auto guard = std::make_unique<fb::GuardT>();
      guard->kind = fb::GuardKind::Equal;
      guard->value = b.infer(default_ops(), full_of({1}, DType::kInt64), {});
      guard->seen_integer = 1;
      guard->text = "flag";
      m.guards.push_back(std::move(guard));
      b.output("y", b.infer(default_ops(), full_of({1}, DType::kFloat32), {}));
    } else {
      b.infer(default_ops(), test::relu(), {x});
      const int largest = b.infer(default_ops(), top, {x});
      b.output("y",
               wide == 0 ? largest : b.infer(default_ops(), full_of({wide}, DType::kFloat32), {}));
    }
  }
  auto& methods = parts.bundle.methods;
  methods[0]->variants.push_back(std::move(methods[1]));
  methods.resize(1);
  return parts;
}

/// A file that is built: metadata in an order that its author chose, and patches of node 0.
class Attack {
 public:
  explicit Attack(BundleParts parts, size_t patches) : parts_(std::move(parts)) {
    fb::MethodT& m = *parts_.bundle.methods[0];
    for (size_t i = 0; i < patches; ++i) {
      switches_.push_back(test::add_switch(&m));
      m.patches.emplace_back(0, 0, -1, switches_.back().term, fb::FieldType::Int64);
    }
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    fb::FinishBundleBuffer(builder, fb::CreateBundle(builder, &parts_.bundle));
    metadata_ = test::lay_out({builder.GetBufferPointer(), builder.GetSize()}, kSpareSlots);
  }

  const fb::Method& method() const { return test::variant_in(metadata_, 0, 0); }
  const fb::Method& victim() const { return test::variant_in(metadata_, 0, 1); }
  const fb::Node& writer() const { return *method().nodes()->Get(0); }
  size_t slots_of_schema() const { return test::attributes_type(writer().op_type()).num_elems; }

  /// Field `slot` of the writer becomes the bytes at `place`, which patch i changes where n is 2.
  template <class T>
  void write(size_t i, size_t slot, const void* place, T then) {
    ASSERT_TRUE(test::is_in_reach(writer().op(), place));
    test::lead_slot(&metadata_, writer().op(), slot, place);
    change(i, fb::Patch(0, static_cast<int>(slot), -1, 0, type_of<T>()), place, then);
  }
  /// Element `index` of the writer's vector in `slot`, which becomes `vector`.
  template <class T>
  void write_element(size_t i, size_t slot, const flatbuffers::Vector<T>* vector, int index,
                     T then) {
    const auto* table = static_cast<const flatbuffers::Table*>(writer().op());
    auto* reference = const_cast<uint8_t*>(
        table->GetAddressOf(static_cast<flatbuffers::voffset_t>(4 + 2 * slot)));
    flatbuffers::WriteScalar(
        reference, static_cast<uint32_t>(reinterpret_cast<const uint8_t*>(vector) - reference));
    change(i, fb::Patch(0, static_cast<int>(slot), index, 0, type_of<T>()),
           vector->Data() + static_cast<size_t>(index) * sizeof(T), then);
  }

  test::AlignedBytes file() const { return test::write_bundle(metadata_, parts_); }
  const fb::MethodT& in_file() const { return *parts_.bundle.methods[0]; }

 private:
  template <class T>
  static fb::FieldType type_of() {
    return sizeof(T) == 8 ? fb::FieldType::Int64 : fb::FieldType::Int32;
  }
  template <class T>
  void change(size_t i, fb::Patch patch, const void* place, T then) {
    patch = fb::Patch(patch.node(), patch.field(), patch.index(), switches_[i].term, patch.type());
    std::memcpy(const_cast<fb::Patch*>(method().patches()->Get(static_cast<uint32_t>(i))), &patch,
                sizeof(patch));
    test::set_switch(&metadata_, method(), switches_[i], 2, then,
                     flatbuffers::ReadScalar<T>(place));
  }

  BundleParts parts_;
  std::vector<test::Switch> switches_;
  std::vector<uint8_t> metadata_;
};

/// What taps told that the file does not say.
struct Taps {
  const fb::MethodT* method;
  size_t taken = 0;
  volatile uint8_t sum = 0;

  void take(const TapPoint& point, const TensorView& view) {
    ++taken;
    const fb::MethodT& m = point.variant == 0 ? *method : *method->variants[point.variant - 1];
    ASSERT_LT(point.value, m.values.size());
    const fb::ValueT& value = *m.values[point.value];
    EXPECT_EQ(view.dtype, static_cast<DType>(value.dtype)) << point.op;
    EXPECT_EQ(view.shape.size(), value.shape.size()) << point.op;
    for (size_t i = 0; i < view.bytes(); ++i) sum = sum + view.as<const uint8_t>()[i];
  }
};

/// Each size of what the loader takes is refused by name, or answered by the second variant; all
/// values can be read, and are of the types and ranks that the file gives them.
void expect_checked_program_at_every_size(const Method& method, const fb::MethodT& in_file) {
  for (const Backend* backend : {reference_backend(), cpu_backend()}) {
    Taps taps = {&in_file};
    Watch watch;
    watch.context = &taps;
    watch.take = [](void* context, const TapPoint& point, const TensorView& view) {
      static_cast<Taps*>(context)->take(point, view);
    };
    SessionOptions options;
    options.backend = backend;
    options.watch = &watch;
    Session session = test::make(method, options);
    for (const int64_t n : {4, 2, 7, 1, 2, 8}) {
      std::vector<float> x(static_cast<size_t>(n), 1.5f);
      ASSERT_TRUE(session.set_input(0, {x.data(), DType::kFloat32, {n}}).ok());
      const Status status = session.run();
      if (!status.ok()) {
        EXPECT_EQ(status.error(), Error::kInvalidBundle) << status.message();
        continue;
      }
      const TensorView y = *session.output(0);
      EXPECT_EQ(*session.variant(), 1u);
      ASSERT_EQ(y.dtype, DType::kFloat32);
      const bool is_full = in_file.variants[0]->nodes.size() == 3;
      for (int64_t i = 0; i < y.numel(); ++i) ASSERT_EQ(y.as<float>()[i], is_full ? 1.0f : 1.5f);
    }
    EXPECT_GT(taps.taken, 0u);
  }
}

void expect_harmless(const Attack& attack) {
  const test::AlignedBytes file = attack.file();
  const Result<Program> program = Program::load(file.span(), default_ops());
  if (!program.ok()) {
    EXPECT_EQ(program.status().error(), Error::kInvalidBundle) << program.status().message();
    return;
  }
  expect_checked_program_at_every_size(program->method(0), attack.in_file());
}

void expect_refused(const Attack& attack) {
  const Status status = Program::load(attack.file().span(), default_ops()).status();
  EXPECT_EQ(status.error(), Error::kInvalidBundle) << status.message();
  EXPECT_THAT(status.message(), testing::HasSubstr("patch 0"));
}

/// The distance from a vector's element to what another element leads to.
uint32_t distance(const fb::Method& m, uint32_t element, uint32_t node) {
  const uint8_t* at = m.nodes()->Data() + 4 * element;
  return static_cast<uint32_t>(reinterpret_cast<const uint8_t*>(m.nodes()->Get(node)) - at);
}

/// Nodes 0 and 1 of the second variant change places: taps are named by the file's nodes, and
/// top_k has more results than relu.
void swap_nodes(Attack* attack, size_t first_slot) {
  const fb::Method& victim = attack->victim();
  const uint8_t* nodes = victim.nodes()->Data();
  attack->write<uint32_t>(0, first_slot, nodes, distance(victim, 0, 1));
  attack->write<uint32_t>(1, first_slot + 1, nodes + 4, distance(victim, 1, 0));
}

TEST(Patches, HiddenSlotsThatSwapAnotherVariantsNodesAreRefused) {
  Attack attack(two_variants(0), 2);
  swap_nodes(&attack, attack.slots_of_schema());
  expect_refused(attack);
  expect_harmless(attack);
}

/// One number of 64 bits, which the schema has and the writer does not read, lies over two
/// references: the second variant's nodes change places, of which top_k has the most results.
TEST(Patches, FieldsThatSwapAnotherVariantsNodesAreRefusedOrChangeNothing) {
  Attack attack(two_variants(1), 1);
  const fb::Method& victim = attack.victim();
  const uint8_t* nodes = victim.nodes()->Data();
  const uint32_t first = reinterpret_cast<uintptr_t>(nodes) % 8 == 0 ? 0 : 1;
  const uint64_t swapped =
      distance(victim, first, first + 1) + (uint64_t{distance(victim, first + 1, first)} << 32);
  attack.write<int64_t>(0, (fb::Full::VT_REAL - 4) / 2, nodes + 4 * first,
                        static_cast<int64_t>(swapped));
  expect_harmless(attack);
}

/// A sample of 1000 numbers would be compared with an output of one.
TEST(Patches, HiddenSlotsThatShrinkAnotherVariantsOutputAreRefused) {
  Attack attack(two_variants(1000), 1);
  const auto* op = attack.victim().nodes()->Get(2)->op_as_Full();
  attack.write<int64_t>(0, attack.slots_of_schema(), op->shape()->Data(), 1);
  expect_refused(attack);
  expect_harmless(attack);
}

TEST(Patches, HiddenSlotsOfTheOwnTableAreRefused) {
  Attack attack(two_variants(0), 1);
  const auto* table = static_cast<const flatbuffers::Table*>(attack.writer().op());
  attack.write<int64_t>(0, attack.slots_of_schema(), table->GetAddressOf(fb::Full::VT_INTEGER), 5);
  expect_refused(attack);
}

/// A field that the writer does not read, of the schema, lies where another table is.
TEST(Patches, FieldsInAnotherVariantsTablesChangeNothingOfIt) {
  for (const int64_t wide : {0, 1000}) {
    BundleParts parts = two_variants(wide);
    Attack number(std::move(parts), 1);
    const fb::Method& victim = number.victim();
    const fb::Node& last = *victim.nodes()->Get(victim.nodes()->size() - 1);
    const void* target =
        wide == 0 ? static_cast<const flatbuffers::Table*>(last.op())->GetAddressOf(fb::TopK::VT_K)
                  : last.op_as_Full()->shape()->Data();
    const size_t real = (fb::Full::VT_REAL - 4) / 2;  // read of floating values only
    number.write<int64_t>(0, real, target, wide == 0 ? 2 : 1);
    expect_harmless(number);
  }
}

/// The writer's shape is another table's list: of a value's extents, or of an operator's.
TEST(Patches, VectorsOfAnotherVariantsTablesChangeNothingOfIt) {
  const auto shape_slot = static_cast<size_t>((fb::Full::VT_SHAPE - 4) / 2);
  {
    Attack attack(two_variants(0), 1);
    const fb::Method& victim = attack.victim();
    const fb::Value& largest = *victim.values()->Get(2);
    ASSERT_EQ(largest.shape()->Get(0), 1);
    attack.write_element<int64_t>(0, shape_slot, largest.shape(), 0, 2);
    expect_harmless(attack);
  }
  {
    Attack attack(two_variants(1), 1);
    const auto* shape = attack.victim().nodes()->Get(2)->op_as_Full()->shape();
    attack.write_element<int64_t>(0, shape_slot, shape, 0, 1 << 20);
    expect_harmless(attack);
  }
}

/// The same file without wild patches is taken, and answers at every size.
TEST(Patches, TheVictimIsAnOrdinaryProgram) {
  for (const int64_t wide : {0, 1000}) {
    const BundleParts parts = two_variants(wide);
    const test::Loaded loaded(parts, default_ops());
    expect_checked_program_at_every_size(loaded.method(), *parts.bundle.methods[0]);
  }
}

}  // namespace
}  // namespace lazyrt
