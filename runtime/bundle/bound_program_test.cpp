// Methods bound to other sizes: they are what a static bundle of these sizes is, whatever a patch
// tries.

#include "runtime/bundle/bound_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <random>

#include "runtime/bundle/arena_packing.h"
#include "runtime/bundle/method_check.h"
#include "runtime/bundle/symbol_numbers.h"
#include "runtime/bundle/verifier.h"
#include "tests/support/dynamic_bundle.h"
#include "tests/support/processor_time.h"
#include "tests/support/tiny_ops.h"

namespace lazyrt {
namespace {

using test::AlignedBytes;
using test::BundleParts;
using testing::HasSubstr;

/// A verified program; its file lives as long.
struct Base {
  explicit Base(const BundleParts& parts) : Base(test::write_bundle(parts)) {}
  explicit Base(AlignedBytes bytes) : file(std::move(bytes)) {
    state.ops = &test::tiny_ops();
    state.allocator = platform_allocator();
    status = read_sections(file.span(), false, &state.sections);
    if (status.ok())
      status = verify_bundle(state.sections, *state.ops, state.options, state.allocator);
  }
  Status bind(std::vector<int64_t> symbols, BoundProgram* bound) const {
    const Fault made = bound->make(state, state.allocator);
    return made.ok() ? bound->bind(0, symbols, nullptr) : made;
  }

  AlignedBytes file;
  ProgramState state;
  Status status;
};

Fault bind(BoundProgram* bound, std::vector<int64_t> symbols, const RunStop* stop = nullptr) {
  return bound->bind(0, symbols, stop);
}

std::vector<Shape> shapes_of(const ProgramState& program) {
  std::vector<Shape> shapes;
  for (const fb::Value* v : *program.method(0).values()) shapes.push_back(shape_of(v->shape()));
  return shapes;
}

TEST(BoundProgram, IsWhatTheStaticBundleIs) {
  const Base base(test::dynamic_bundle());
  ASSERT_TRUE(base.status.ok()) << base.status.message();
  const std::vector<uint8_t> before(base.file.data(), base.file.data() + base.file.size());
  for (int64_t rows : {1, 4, 8}) {
    for (int64_t n : {2, 6, 512}) {
      BoundProgram bound;
      const Status status = base.bind({rows, n}, &bound);
      ASSERT_TRUE(status.ok()) << status.message();
      const Base fixed(test::static_bundle(rows, n));
      EXPECT_EQ(shapes_of(bound.state()), shapes_of(fixed.state));
      EXPECT_LE(bound.state().method(0).arena_bytes(), fixed.state.method(0).arena_bytes());
      EXPECT_EQ(bound.state().constant(*base.state.method(0).values()->Get(test::dynamic::kOne)),
                base.state.constant(*base.state.method(0).values()->Get(test::dynamic::kOne)));
    }
  }
  EXPECT_EQ(before, std::vector<uint8_t>(base.file.data(), base.file.data() + base.file.size()));
}

TEST(BoundProgram, ExtentsThatFollowAreWhatTheStaticBundleHas) {
  const Base base(test::follows_bundle());
  ASSERT_TRUE(base.status.ok()) << base.status.message();
  for (int64_t n : {1, 2, 17, 100}) {
    BoundProgram bound;
    const Status status = base.bind({n}, &bound);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(shapes_of(bound.state()), shapes_of(Base(test::follows_bundle(n)).state));
  }
}

std::string refusal_of_rule(const std::function<void(fb::MethodT& m)>& change) {
  BundleParts parts = test::follows_bundle();
  change(*parts.bundle.methods[0]);
  const Base base(parts);
  EXPECT_EQ(base.status.error(), Error::kInvalidBundle);
  return base.status.message();
}

TEST(BoundProgram, HostileExtentsAreRefusedAtLoad) {
  using Op = fb::TermOp;
  const auto number = [](int64_t factor, int64_t offset) {
    return refusal_of_rule([=](fb::MethodT& m) {
      m.terms[1] = fb::Term(factor, 0, 0, 0, Op::Integer);
      m.terms[3] = fb::Term(offset, 0, 0, 0, Op::Integer);
    });
  };
  EXPECT_THAT(number(0, 5), HasSubstr("is no extent where 'n' is 1 to 100"));
  EXPECT_THAT(number(-2, 9), HasSubstr("is no extent where 'n' is 1 to 100"));
  EXPECT_THAT(number(2, -2), HasSubstr("2*n - 2 is no extent where 'n' is 1 to 100"));
  EXPECT_THAT(number(3, 1), HasSubstr("dim 0: 5 is not 3*n + 1"));
  EXPECT_THAT(number(1, 1), HasSubstr("but symbol 'n' is 2"));
  for (const int64_t huge : {INT64_MAX, INT64_MIN, int64_t{1} << 31, -(int64_t{1} << 31)}) {
    EXPECT_THAT(number(huge, 1), HasSubstr("is no multiple of a symbol and a number"));
    EXPECT_THAT(number(2, huge), HasSubstr("is no multiple of a symbol and a number"));
  }
  EXPECT_THAT(refusal_of_rule([](fb::MethodT& m) {
                m.symbols[0]->max = INT64_MAX;
                m.terms[1] = fb::Term(INT32_MAX, 0, 0, 0, Op::Integer);
              }),
              HasSubstr("is no extent where 'n' is 1 to 9223372036854775807"));
  for (const Op op : {Op::Multiply, Op::Remainder, Op::FloorDivide, Op::Max, Op::Floor}) {
    EXPECT_THAT(refusal_of_rule([op](fb::MethodT& m) { m.terms[4] = fb::Term(0, 0, 2, 3, op); }),
                HasSubstr(op == Op::Multiply ? "" : "is no multiple of a symbol and a number"));
  }
  for (const int operand : {-1, 5, 4, 99, INT32_MAX, INT32_MIN}) {
    for (const bool first : {true, false}) {
      EXPECT_THAT(refusal_of_rule([&](fb::MethodT& m) {
                    m.terms[4] = fb::Term(0, 0, first ? operand : 2, first ? 3 : operand, Op::Add);
                  }),
                  HasSubstr("is no multiple of a symbol and a number"));
    }
    EXPECT_THAT(refusal_of_rule(
                    [&](fb::MethodT& m) { m.terms[0] = fb::Term(0, 0, operand, 0, Op::Symbol); }),
                HasSubstr("is no multiple of a symbol and a number"));
  }
  for (const int index : {6, 77, INT32_MAX})
    EXPECT_THAT(refusal_of_rule([&](fb::MethodT& m) { m.values[1]->symbols = {index}; }),
                HasSubstr("there is no symbol"));
  EXPECT_THAT(refusal_of_rule([](fb::MethodT& m) {
                m.values[2]->symbols = {5, -1};
              }),
              HasSubstr("only extents of inputs follow from a symbol"));
}

TEST(BoundProgram, ASymbolMayHaveNoDimOfItsOwn) {
  BundleParts parts = test::follows_bundle();
  parts.bundle.methods[0]->values[0]->symbols = {-1, -1};
  const Base base(parts);
  ASSERT_TRUE(base.status.ok()) << base.status.message();
  BoundProgram bound;
  ASSERT_TRUE(base.bind({9}, &bound).ok());
  EXPECT_EQ(shapes_of(bound.state()),
            (std::vector<Shape>{Shape({2, 3}), Shape({19}), Shape({19, 3}), Shape({19, 3})}));
}

TEST(BoundProgram, AVariantsExtentsFollowAsTheMethodsDo) {
  const auto with_variant = [](int64_t offset) {
    BundleParts parts = test::follows_bundle(), other = test::follows_bundle();
    fb::MethodT& m = *other.bundle.methods[0];
    m.terms.insert(m.terms.begin(), fb::Term(7, 0, 0, 0, fb::TermOp::Integer));
    for (size_t t = 3; t < m.terms.size(); t += 2)
      m.terms[t] = fb::Term(0, 0, m.terms[t].a() + 1, m.terms[t].b() + 1, m.terms[t].op());
    m.terms[4] = fb::Term(offset, 0, 0, 0, fb::TermOp::Integer);
    m.values[1]->symbols = {6};
    m.values[1]->shape = {4 + offset};
    m.values[1]->bytes = static_cast<uint64_t>(8 * (4 + offset));
    for (int id : {2, 3}) {
      m.values[static_cast<size_t>(id)]->shape = {4 + offset, 3};
      m.values[static_cast<size_t>(id)]->bytes = static_cast<uint64_t>(12 * (4 + offset));
    }
    parts.bundle.methods[0]->variants.push_back(std::move(other.bundle.methods[0]));
    return Base(parts).status;
  };
  EXPECT_TRUE(with_variant(1).ok()) << with_variant(1).message();
  EXPECT_THAT(with_variant(0).message(),
              HasSubstr("input 'ids' does not have the method's fixed extents and symbols"));
}

TEST(BoundProgram, TakesAllowedValuesOnly) {
  const Base base(test::dynamic_bundle());
  for (int64_t n : {int64_t{0}, int64_t{-2}, int64_t{514}, int64_t{7}, INT64_MAX, INT64_MIN}) {
    BoundProgram bound;
    const Status status = base.bind({4, n}, &bound);
    EXPECT_EQ(status.error(), Error::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("allowed are 2 to 512 in multiples of 2"));
  }
}

/// Loading binds many sizes one after the other in one copy.
TEST(BoundProgram, BindingAgainIsAsBindingAfresh) {
  const Base base(test::ranges_bundle(102));
  ASSERT_TRUE(base.status.ok()) << base.status.message();
  BoundProgram again;
  ASSERT_TRUE(again.make(base.state, base.state.allocator).ok());
  const auto bytes_of = [&](const BoundProgram& bound) {
    const uint8_t* metadata = bound.state().bound_metadata;
    return std::string(metadata, metadata + base.state.sections.metadata.size());
  };
  for (const std::vector<int64_t>& symbols :
       std::vector<std::vector<int64_t>>{{8, 2}, {4, 512}, {1, 104}, {8, 100}, {4, 6}}) {
    BoundProgram fresh;
    ASSERT_TRUE(base.bind(symbols, &fresh).ok());
    ASSERT_TRUE(bind(&again, symbols).ok());
    EXPECT_EQ(bytes_of(again), bytes_of(fresh)) << symbols[0] << ", " << symbols[1];
  }
  EXPECT_FALSE(bind(&again, {5, 104}).ok()) << "no variant takes these";
  ASSERT_TRUE(bind(&again, {8, 6}).ok());
}

TEST(BoundProgram, HearsItsStop) {
  const Base base(test::dynamic_bundle());
  RunStop stop;
  BoundProgram bound;
  ASSERT_TRUE(bound.make(base.state, base.state.allocator).ok());
  stop.begin(0);
  EXPECT_TRUE(bind(&bound, {4, 8}, &stop).ok());
  stop.cancel();
  EXPECT_EQ(bind(&bound, {4, 10}, &stop).error(), Error::kCancelled);
  stop.begin(1);
  EXPECT_EQ(bind(&bound, {4, 10}, &stop).error(), Error::kDeadlineExceeded);
  stop.begin(0);
  EXPECT_TRUE(bind(&bound, {4, 10}, &stop).ok()) << "it can go on after a stop";
}

/// Several variants that take the same sizes may all be tried in one run.
TEST(BoundProgram, WorkOfAllVariantsCountsTogether) {
  BundleParts parts = test::dynamic_bundle();
  const auto least_limit = [&] {
    const AlignedBytes file = test::write_bundle(parts);
    LoadOptions options;
    for (options.work_limit = 1000;; options.work_limit += 1000) {
      const Status status = Program::load(file.span(), test::tiny_ops(), options).status();
      if (status.ok()) return options.work_limit;
      EXPECT_EQ(status.error(), Error::kLimitExceeded) << status.message();
    }
  };
  const uint64_t one = least_limit();
  for (int i = 0; i < 2; ++i) {
    BundleParts more = test::dynamic_bundle();
    parts.bundle.methods[0]->variants.push_back(std::move(more.bundle.methods[0]));
  }
  EXPECT_GT(least_limit(), 2 * one);
}

TEST(BoundProgram, LimitsHoldAtEverySize) {
  const BundleParts parts = test::dynamic_bundle();
  const AlignedBytes file = test::write_bundle(parts);
  LoadOptions options;
  options.memory_limit = 20000;  // n = 512 takes more
  Status status = Program::load(file.span(), test::tiny_ops(), options).status();
  EXPECT_EQ(status.error(), Error::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("at its largest sizes: method 'forward' with rows=8, "
                                          "n=512"));
  options = LoadOptions();
  options.node_work_limit = 2000;
  status = Program::load(file.span(), test::tiny_ops(), options).status();
  EXPECT_EQ(status.error(), Error::kLimitExceeded);
  EXPECT_THAT(status.message(), HasSubstr("at its largest sizes"));
}

TEST(BoundProgram, WhatDoesNotWorkAtOtherSizesNamesItsNode) {
  BundleParts parts = test::dynamic_bundle();
  parts.bundle.methods[0]->patches.clear();  // the reshape stays at [18]
  const Base base(parts);
  ASSERT_TRUE(base.status.ok()) << base.status.message();
  BoundProgram bound;
  const Status status = base.bind({4, 8}, &bound);
  EXPECT_EQ(status.error(), Error::kInvalidBundle);
  EXPECT_THAT(status.message(), HasSubstr("method 'forward' with rows=4, n=8: method 'forward', "
                                          "node 3 (reshape): [8,3] does not fit into [18]"));
  const AlignedBytes file = test::write_bundle(parts);
  EXPECT_THAT(Program::load(file.span(), test::tiny_ops()).status().message(),
              HasSubstr("at its smallest sizes: method 'forward' with rows=1, n=2"));
}

TEST(BoundProgram, StatesKeepTheirShape) {
  BundleParts parts = test::dynamic_bundle();
  fb::MethodT& m = *parts.bundle.methods[0];
  fb::ValueT& state = *m.values[test::dynamic::kCount];
  state.shape = {6, 3};  // the mask's
  state.bytes = 72;
  m.values[test::dynamic::kOne]->shape = {6, 3};
  m.values[test::dynamic::kOne]->bytes = 72;
  parts.constants.resize(72 + 64);
  m.values[test::dynamic::kNext]->shape = {6, 3};
  m.values[test::dynamic::kNext]->bytes = 72;
  m.states[0]->next = test::dynamic::kSum;
  m.values[test::dynamic::kRelu]->alias_of = -1;
  m.values[test::dynamic::kRelu]->offset = m.arena_bytes;
  m.values[test::dynamic::kFlat]->offset = m.arena_bytes;
  m.values[test::dynamic::kNext]->offset = m.arena_bytes + 128;
  m.arena_bytes += 256;
  const Base base(parts);
  ASSERT_TRUE(base.status.ok()) << base.status.message();
  BoundProgram bound;
  EXPECT_TRUE(base.bind({2, 6}, &bound).ok());
  BoundProgram other;
  const Status status = base.bind({4, 8}, &other);
  EXPECT_EQ(status.error(), Error::kInvalidBundle);
  EXPECT_THAT(status.message(), HasSubstr("next does not have its dtype and shape f32[6,3]"));
}

/// The double of these bits. Sums of such that are below 2^52 are sums of integers.
double of_bits(uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

/// dynamic_bundle with patches of two numbers of its relu that nothing reads. Its vtable lies in
/// the producer's text and lets them be anywhere: the number that is there changes by a multiple of
/// n - 6.
constexpr int kWild = 2;

AlignedBytes wild_patches(std::mt19937* random) {
  using fb::Term;
  using fb::TermOp;
  BundleParts parts = test::dynamic_bundle();
  parts.bundle.producer = std::string(63, 'v');
  fb::MethodT& m = *parts.bundle.methods[0];
  m.terms.push_back(Term(6, 0, 0, 0, TermOp::Integer));   // 3
  m.terms.push_back(Term(0, 0, 0, 3, TermOp::Subtract));  // 4: n - 6
  for (int i = 0; i < kWild; ++i) {
    const int first = static_cast<int>(m.terms.size());
    const double step = of_bits((*random)() % 5) * ((*random)() % 2 == 0 ? 1 : -1);
    m.terms.push_back(Term(0, 0, 0, 0, TermOp::Real));  // what is there, set below
    m.terms.push_back(Term(0, step, 0, 0, TermOp::Real));
    m.terms.push_back(Term(0, 0, 4, first + 1, TermOp::Multiply));
    m.terms.push_back(Term(0, 0, first, first + 2, TermOp::Add));
    m.patches.push_back(
        fb::Patch(test::dynamic::kReluNode, 1 + i, -1, first + 3, fb::FieldType::Float64));
  }
  AlignedBytes file = test::write_bundle(parts);
  uint8_t* metadata = file.data() + file.prolog().metadata_offset;
  const uint64_t size = file.prolog().metadata_bytes;
  const fb::Bundle& bundle = *fb::GetBundle(metadata);
  const fb::Method& method = *bundle.methods()->Get(0);
  const void* node = method.nodes()->Get(test::dynamic::kReluNode)->op();
  auto* table = static_cast<uint8_t*>(const_cast<void*>(node));
  const uint8_t* old = table - flatbuffers::ReadScalar<int32_t>(table);
  auto* vtable = const_cast<uint8_t*>(bundle.producer()->Data());
  const uint16_t head[3] = {6 + 2 * kWild, flatbuffers::ReadScalar<uint16_t>(old + 2),
                            flatbuffers::ReadScalar<uint16_t>(old + 4)};
  std::memcpy(vtable, head, sizeof(head));
  const auto begin = static_cast<uint64_t>(table - metadata);
  auto* terms = const_cast<Term*>(reinterpret_cast<const Term*>(method.terms()->Data()));
  for (int i = 0; i < kWild; ++i) {
    uint64_t at = begin + 8 + (*random)() % (size - begin - 16);
    at -= at % 8;
    flatbuffers::WriteScalar<uint16_t>(vtable + 6 + 2 * i, static_cast<uint16_t>(at - begin));
    uint64_t bits = 0;
    std::memcpy(&bits, metadata + at, 8);
    terms[5 + 4 * i] = Term(0, of_bits(bits), 0, 0, TermOp::Real);
  }
  flatbuffers::WriteScalar<int32_t>(table, static_cast<int32_t>(table - vtable));
  test::reseal(&file);
  return file;
}

/// Whether taps and reports, which read the file's nodes, name the operands of the bound ones.
bool has_same_nodes(const fb::Method& file, const fb::Method& bound) {
  for (uint32_t i = 0; i < count_of(file.nodes()); ++i) {
    const fb::Node &a = node_at(file, i), &b = node_at(bound, i);
    const Span<const int32_t> in = inputs_of(a), out = outputs_of(a);
    const Span<const int32_t> bound_in = inputs_of(b), bound_out = outputs_of(b);
    if (a.op_type() != b.op_type() ||
        !std::equal(in.begin(), in.end(), bound_in.begin(), bound_in.end()) ||
        !std::equal(out.begin(), out.end(), bound_out.begin(), bound_out.end())) {
      return false;
    }
  }
  return true;
}

TEST(BoundProgram, HostilePatchesMakeNoBadBundle) {
  const uint32_t seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  int bound_count = 0, loaded = 0;
  constexpr int kRounds = 5000;
  for (int round = 0; round < kRounds; ++round) {
    const Base base(wild_patches(&random));
    if (!base.status.ok()) continue;
    ++loaded;
    for (int64_t n : {2, 8, 512}) {
      BoundProgram bound;
      const Status status = base.bind({4, n}, &bound);
      if (!status.ok()) continue;
      ++bound_count;
      BundleSections sections = base.state.sections;
      sections.metadata = {bound.state().bound_metadata, sections.metadata.size()};
      const fb::Method& method = bound.state().method(0);
      ASSERT_TRUE(check_method_structure(sections.metadata, method).ok());
      WorkMeter work(base.state.options);
      EXPECT_TRUE(verify_bound_method(sections, method, *base.state.ops, base.state.options,
                                      base.state.allocator, {&work, nullptr})
                      .ok());
      EXPECT_TRUE(has_same_nodes(base.state.method(0), method));
    }
  }
  std::printf("of %d files %d loaded, %d bound of %d\n", kRounds, loaded, bound_count, 3 * loaded);
  EXPECT_GT(loaded, kRounds / 4);
  EXPECT_LT(bound_count, 3 * loaded);
}

double ms_to_bind(int nodes) {
  const Base base(test::relu_chain(nodes));
  EXPECT_TRUE(base.status.ok()) << base.status.message();
  int64_t extent = 100;
  return test::least_processor_ms(5, [&] {
    BoundProgram bound;
    const Status status = base.bind({extent++}, &bound);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(bound.state().method(0).arena_bytes(), 3u * 448);
  });
}

TEST(BoundProgram, BindsALongChainInNoTime) {
  const double few = ms_to_bind(2'500), many = ms_to_bind(10'000);
  std::printf("%.2f ms to bind 10,000 nodes\n", many);
  EXPECT_LT(many, test::far_from_quadratic(few));
}

/// As many variants of 500 nodes as there may be, each with the bounds that `set` gives its symbol.
AlignedBytes many_variants(const std::function<void(int64_t extent, fb::SymbolT*)>& set) {
  BundleParts parts = test::relu_chain(500, 1);
  fb::MethodT& main = *parts.bundle.methods[0];
  set(1, main.symbols[0].get());
  for (int64_t extent = 2; extent <= kBundleMaxSizedMethods; ++extent) {
    main.variants.push_back(std::move(test::relu_chain(500, extent).bundle.methods[0]));
    set(extent, main.variants.back()->symbols[0].get());
  }
  return test::write_bundle(parts);
}

void expect_quick_load(const AlignedBytes& file) {
  const auto begin = std::chrono::steady_clock::now();
  const Result<Program> program = Program::load(file.span(), test::tiny_ops());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(program.ok()) << program.status().message();
  std::printf("%.2f s to load %.1f MB\n", took.count(), static_cast<double>(file.size()) / 1e6);
  EXPECT_LT(took.count(), 60);  // far from quadratic, also with sanitizers
}

/// Each bind at load takes time for what it binds, not for the whole file.
TEST(BoundProgram, AsManyVariantsAsThereMayBeLoadInReasonableTime) {
  expect_quick_load(many_variants([](int64_t, fb::SymbolT*) {}));
  expect_quick_load(many_variants(
      [](int64_t extent, fb::SymbolT* symbol) { symbol->min = symbol->max = extent; }));
}

TEST(BoundProgram, VariantsThatOverlapInManyWaysAreRefused) {
  const AlignedBytes file =
      many_variants([](int64_t extent, fb::SymbolT* symbol) { symbol->max = 1000 + extent; });
  const Status status = Program::load(file.span(), test::tiny_ops()).status();
  EXPECT_EQ(status.error(), Error::kInvalidBundle);
  EXPECT_THAT(status.message(), HasSubstr("overlap in too many ways"));
}

TEST(Terms, AreComputedAsPythonDoes) {
  BundleParts parts = test::dynamic_bundle();
  fb::MethodT& m = *parts.bundle.methods[0];
  using fb::Term;
  using fb::TermOp;
  m.patches.clear();
  m.terms = {Term(-7, 0, 0, 0, TermOp::Integer),    Term(2, 0, 0, 0, TermOp::Integer),
             Term(0, 0, 0, 1, TermOp::FloorDivide), Term(0, 0, 0, 1, TermOp::Remainder),
             Term(0, 0, 0, 1, TermOp::Divide),      Term(0, 0, 0, 1, TermOp::Max),
             Term(0, 0, 4, 1, TermOp::Min),         Term(0, 0, 1, 0, TermOp::SquareRoot),
             Term(0, 0, 1, 0, TermOp::Logarithm),   Term(0, 0, 0, 1, TermOp::Subtract),
             Term(0, 0, 4, 0, TermOp::Floor),       Term(0, 0, 4, 0, TermOp::Round),
             Term(0, 0, 1, 0, TermOp::Floor)};
  AlignedBytes file = test::write_bundle(parts);
  const fb::Method& method =
      *fb::GetBundle(file.data() + file.prolog().metadata_offset)->methods()->Get(0);
  Pool memory(platform_allocator());
  Span<TermNumber> numbers;
  const int64_t symbols[] = {4, 6};
  ASSERT_TRUE(evaluate_terms(method, symbols, &memory, &numbers).ok());
  EXPECT_EQ(numbers[2].integer, -4);
  EXPECT_EQ(numbers[3].integer, 1);
  EXPECT_EQ(numbers[4].real, -3.5);
  EXPECT_TRUE(numbers[4].is_real);
  EXPECT_EQ(numbers[5].integer, 2);
  EXPECT_EQ(numbers[6].real, -3.5);
  EXPECT_TRUE(numbers[6].is_real);
  EXPECT_EQ(numbers[7].real, std::sqrt(2.0));
  EXPECT_EQ(numbers[8].real, std::log(2.0));
  EXPECT_EQ(numbers[9].integer, -9);
  EXPECT_FALSE(numbers[9].is_real);
  EXPECT_EQ(numbers[10].integer, -4);
  EXPECT_FALSE(numbers[10].is_real);
  EXPECT_EQ(numbers[11].integer, -4);  // -3.5: halves go to the even one
  EXPECT_EQ(numbers[12].integer, 2);
  TermNumber far;
  EXPECT_FALSE(compute_term(TermOp::Floor, {true, 0, 1e16}, {}, &far).ok());
}

TEST(ArenaPacking, BeyondTheBoundOnPairsPiecesAreStacked) {
  std::mt19937 random(3);
  std::vector<ArenaPiece> pieces;
  for (int i = 0; i < 300; ++i) {
    const int first = static_cast<int>(random() % 100) - 1;
    pieces.push_back({first, first + static_cast<int>(random() % 60), 64 * (1 + random() % 9), 0});
  }
  for (size_t most : {size_t{0}, size_t{100}, size_t{1} << 20}) {
    uint64_t total = 0, least = 0;
    ASSERT_TRUE(pack_arena(pieces, platform_allocator(), most, &total));
    ASSERT_TRUE(arena_lower_bound(pieces, platform_allocator(), &least));
    EXPECT_GE(total, least);
    EXPECT_LE(total, least * 2);
    for (size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_LE(pieces[i].offset + pieces[i].bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const ArenaPiece &a = pieces[i], &b = pieces[j];
        EXPECT_TRUE(a.last < b.first || b.last < a.first || a.offset + a.bytes <= b.offset ||
                    b.offset + b.bytes <= a.offset);
      }
    }
  }
}

TEST(ArenaPacking, TakesTimeInProportionWhateverLives) {
  for (int life : {1, 30, 10'000}) {
    std::mt19937 random(5);
    std::vector<ArenaPiece> pieces;
    for (int i = 0; i < 10'000; ++i) {
      const int last = i + static_cast<int>(random() % static_cast<unsigned>(life));
      pieces.push_back({i - 1, std::min(last, 10'000), 64 * (1 + random() % 50), 0});
    }
    uint64_t total = 0, least = 0;
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(pack_arena(pieces, platform_allocator(), most_pairs_for(pieces.size()), &total));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    ASSERT_TRUE(arena_lower_bound(pieces, platform_allocator(), &least));
    std::printf("lives up to %d: %.2f ms, %.3f of the lower bound\n", life, took.count(),
                static_cast<double>(total) / static_cast<double>(least));
    EXPECT_LE(total, least * 2);
  }
}

}  // namespace
}  // namespace lazyrt
