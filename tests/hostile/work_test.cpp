// Files of a few hundred bytes whose loops did not end. By default each is refused by the name of
// its value or node; where the limits are raised, those without a result to compute answer at once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lazyrt/runtime.h"
#include "tests/support/tiny_bundle.h"

namespace lazyrt {
namespace {

using test::MethodBuilder;
using testing::HasSubstr;

constexpr int64_t power(int n) { return int64_t{1} << n; }
constexpr DType kF32 = DType::kFloat32;

/// Of a method that is begun, one input of zeros and one constant of zeros after the other.
class HostileMethod {
 public:
  HostileMethod() : builder_(&parts_) {}

  int input(std::vector<int64_t> shape, DType dtype = kF32) {
    return builder_.input("x" + std::to_string(inputs_++), dtype, std::move(shape));
  }
  int zeros(std::vector<int64_t> shape, DType dtype = kF32) {
    size_t bytes = dtype_size(dtype);
    for (int64_t d : shape) bytes *= static_cast<size_t>(d);
    const std::vector<uint8_t> data(bytes);
    return builder_.constant("c", dtype, std::move(shape), data.data());
  }
  template <class TableT>
  void node(const TableT& attrs, std::vector<int> operands) {
    builder_.output("y", builder_.infer(default_ops(), attrs, std::move(operands)));
  }
  test::AlignedBytes file() const { return write_bundle(parts_); }

 private:
  test::BundleParts parts_;
  MethodBuilder builder_;
  int inputs_ = 0;
};

enum class Answer { kNone, kSome };

struct Endless {
  const char* name;
  Answer answer;  ///< kNone: there is nothing to compute
  std::function<void(HostileMethod&)> build;
};

template <class TableT>
void pool(HostileMethod& m, int64_t kernel) {
  TableT t;
  t.kernel_h = t.kernel_w = static_cast<int>(kernel);
  m.node(t, {m.input({1, power(30), power(30), 0})});
}

template <class TableT>
void rnn(HostileMethod& m, int states, int64_t gates, std::vector<int64_t> x, int64_t hidden) {
  TableT t;
  t.has_bias = false;
  std::vector<int> operands = {m.input(x)};
  for (int i = 0; i < states; ++i) operands.push_back(m.input({1, x[1], hidden}));
  operands.push_back(m.zeros({gates * hidden, x[2]}));
  operands.push_back(m.zeros({gates * hidden, hidden}));
  m.node(t, operands);
}

const Endless kEndless[] = {
    {"upsample2d", Answer::kNone,
     [](HostileMethod& m) {
       fb::Upsample2dT t;
       t.out_h = t.out_w = static_cast<int>(power(30));
       m.node(t, {m.input({1, 1, 1, 0})});
     }},
    {"softmax", Answer::kNone,
     [](HostileMethod& m) {
       fb::SoftmaxT t;
       t.axis = 1;
       m.node(t, {m.input({power(58), 0, 2})});
     }},
    {"top_k", Answer::kNone,
     [](HostileMethod& m) {
       fb::TopKT t;
       t.axis = 1;
       m.node(t, {m.input({power(58), 0})});
     }},
    {"cum_sum", Answer::kNone,
     [](HostileMethod& m) {
       fb::CumSumT t;
       t.axis = 1;
       m.node(t, {m.input({power(59), 0})});
     }},
    {"scan", Answer::kNone,
     [](HostileMethod& m) {
       fb::ScanT t;
       t.axis = 1;
       m.node(t, {m.input({power(59), 0})});
     }},
    {"matmul", Answer::kNone,
     [](HostileMethod& m) {
       m.node(fb::MatMulT(), {m.input({power(59), 0}), m.input({0, 0})});
     }},
    {"matmul_batches", Answer::kNone,
     [](HostileMethod& m) {
       m.node(fb::MatMulT(), {m.input({power(58), 0, 1}), m.input({1, 1})});
     }},
    {"matmul_transposed", Answer::kNone,
     [](HostileMethod& m) {
       fb::MatMulT t;
       t.transpose_b = true;
       m.node(t, {m.input({power(59), 0}), m.input({0, 0})});
     }},
    {"max_pool2d", Answer::kNone, [](HostileMethod& m) { pool<fb::MaxPool2dT>(m, 1); }},
    {"avg_pool2d", Answer::kNone, [](HostileMethod& m) { pool<fb::AvgPool2dT>(m, 1); }},
    {"max_pool2d_one_window", Answer::kNone,
     [](HostileMethod& m) { pool<fb::MaxPool2dT>(m, power(30)); }},
    {"avg_pool2d_one_window", Answer::kNone,
     [](HostileMethod& m) { pool<fb::AvgPool2dT>(m, power(30)); }},
    {"adaptive_avg_pool2d", Answer::kNone,
     [](HostileMethod& m) {
       fb::AdaptiveAvgPool2dT t;
       t.out_h = t.out_w = static_cast<int>(power(30));
       m.node(t, {m.input({1, 1, 1, 0})});
     }},
    {"conv_transpose2d", Answer::kNone,
     [](HostileMethod& m) {
       m.node(fb::ConvTranspose2dT(),
              {m.input({1, power(30), power(30), 0}), m.zeros({0, 1, 1, 0})});
     }},
    {"gru_no_hidden", Answer::kNone,
     [](HostileMethod& m) {
       rnn<fb::GruT>(m, 1, 3, {power(30), power(30), 0}, 0);
     }},
    {"gru_no_batch", Answer::kNone,
     [](HostileMethod& m) {
       rnn<fb::GruT>(m, 1, 3, {power(58), 0, 4}, 2);
     }},
    {"lstm_no_hidden", Answer::kNone,
     [](HostileMethod& m) {
       rnn<fb::LstmT>(m, 2, 4, {power(30), power(30), 0}, 0);
     }},
    {"lstm_no_batch", Answer::kNone,
     [](HostileMethod& m) {
       rnn<fb::LstmT>(m, 2, 4, {power(58), 0, 4}, 2);
     }},
    {"conv2d", Answer::kSome,
     [](HostileMethod& m) {
       fb::Conv2dT t;
       t.dilation_w = 2;
       m.node(t, {m.input({1, power(30), power(30), 0}), m.zeros({1, power(30), power(29), 0})});
     }},
    {"conv2d_no_filters", Answer::kNone,
     [](HostileMethod& m) {
       m.node(fb::Conv2dT(), {m.input({1, power(30), power(30), 0}), m.zeros({0, 1, 1, 0})});
     }},
    {"linear", Answer::kNone,
     [](HostileMethod& m) {
       m.node(fb::LinearT(), {m.input({power(59), 0}), m.zeros({0, 0})});
     }},
    {"batch_norm", Answer::kNone,
     [](HostileMethod& m) {
       fb::BatchNormT t;
       t.channel_axis = 1;
       const int one = m.zeros({1}, DType::kFloat64);
       m.node(t, {m.input({power(57), 1, 0}, DType::kFloat64), one, one, one, one});
     }},
    {"group_norm", Answer::kNone,
     [](HostileMethod& m) {
       m.node(fb::GroupNormT(), {m.input({power(57), 1, 0})});
     }},
    {"arg_reduce", Answer::kNone,
     [](HostileMethod& m) {
       fb::ArgReduceT t;
       t.axis = 1;
       m.node(t, {m.input({power(58), 1, 0})});
     }},
    {"reduce_kept", Answer::kNone,
     [](HostileMethod& m) {
       fb::ReduceT t;
       t.axes = {1};
       m.node(t, {m.input({power(58), 1, 0})});
     }},
    {"index_select", Answer::kNone,
     [](HostileMethod& m) {
       fb::IndexSelectT t;
       t.axis = 1;
       m.node(t, {m.input({power(57), 0}), m.input({0}, DType::kInt64)});
     }},
};

class EndlessFile : public testing::TestWithParam<Endless> {};

TEST_P(EndlessFile, IsRefusedByName) {
  HostileMethod method;
  GetParam().build(method);
  const test::AlignedBytes file = method.file();
  EXPECT_LT(file.size(), 2000u);
  const Status status = Program::load(file.span(), default_ops()).status();
  EXPECT_EQ(status.error(), Error::kLimitExceeded) << status.message();
  EXPECT_THAT(status.message(), testing::MatchesRegex("method 'forward', (value|node) .*"));
  EXPECT_THAT(status.message(), HasSubstr("work_limit"));
}

TEST_P(EndlessFile, AnswersAtOnceWhereThereIsNothingToCompute) {
  if (GetParam().answer == Answer::kSome) GTEST_SKIP() << "there is a result: it would not end";
  HostileMethod method;
  GetParam().build(method);
  const test::AlignedBytes file = method.file();
  LoadOptions all;
  all.work_limit = all.node_work_limit = UINT64_MAX;
  const auto program = Program::load(file.span(), default_ops(), all);
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (const Backend* backend : {cpu_backend(), reference_backend()}) {
    SessionOptions options;
    options.backend = backend;
    auto session = Session::create(program->method(0), options);
    ASSERT_TRUE(session.ok()) << session.status().message();
    for (size_t i = 0; i < program->method(0).input_count(); ++i) {
      const TensorInfo info = program->method(0).input(i);
      const std::vector<uint8_t> data(static_cast<size_t>(info.shape.numel()) *
                                      dtype_size(info.dtype));
      ASSERT_TRUE(session->set_input(i, data.data(), data.size()).ok());
    }
    const Status status = session->run();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(session->output(0)->numel(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, EndlessFile, testing::ValuesIn(kEndless),
                         [](const auto& c) { return std::string(c.param.name); });

/// The same file at the limit and one step beyond it.
TEST(WorkLimit, IsTheCallers) {
  HostileMethod method;
  fb::MatMulT product;
  method.node(product, {method.input({4, 5}), method.input({5, 6})});
  const test::AlignedBytes file = method.file();
  constexpr uint64_t kSteps = 4 * 5 * 6 + 4 * 5 + 5 * 6 + 4 * 6;
  LoadOptions options;
  options.node_work_limit = kSteps;
  options.work_limit = kSteps;
  EXPECT_TRUE(Program::load(file.span(), default_ops(), options).ok());
  options.node_work_limit = kSteps - 1;
  EXPECT_STREQ(Program::load(file.span(), default_ops(), options).status().message(),
               "method 'forward', node 0 (matmul): its work is 194 steps, at most 193 are allowed "
               "for a node (node_work_limit)");
  options.node_work_limit = 0;
  options.work_limit = kSteps - 1;
  EXPECT_STREQ(Program::load(file.span(), default_ops(), options).status().message(),
               "method 'forward', node 0 (matmul): with it the method's work is 194 steps, at most "
               "193 are allowed (work_limit)");
}

/// Many nodes, each within the limit; a run may try every variant.
TEST(WorkLimit, HoldsForAllNodesOfAllVariants) {
  const auto file_of = [](int nodes, int variants) {
    test::BundleParts parts;
    MethodBuilder first(&parts);
    int x = first.input("x", kF32, {1000});
    for (int i = 0; i < nodes; ++i) x = first.infer(default_ops(), test::relu(), {x});
    first.output("y", x);
    fb::MethodT& method = first.method();
    for (int i = 0; i < variants; ++i) {
      auto variant = std::make_unique<fb::MethodT>(method);
      variant->variants.clear();
      method.variants.push_back(std::move(variant));
    }
    return write_bundle(parts);
  };
  LoadOptions options;
  options.work_limit = 20000;  // of relu over 1000 elements: ten nodes
  EXPECT_TRUE(Program::load(file_of(10, 0).span(), default_ops(), options).ok());
  EXPECT_THAT(Program::load(file_of(11, 0).span(), default_ops(), options).status().message(),
              HasSubstr("node 10 (unary): with it"));
  EXPECT_TRUE(Program::load(file_of(5, 1).span(), default_ops(), options).ok());
  EXPECT_THAT(Program::load(file_of(5, 2).span(), default_ops(), options).status().message(),
              HasSubstr("variant 2 of method 'forward'"));
}

/// A method of relus over x f32[s,t]: a variant for each of the bounds of s and t.
struct Bounds {
  int64_t least_s, most_s, least_t, most_t;
};
test::AlignedBytes sized_relus(const std::vector<Bounds>& variants) {
  test::BundleParts parts;
  for (const Bounds& bounds : variants) {
    MethodBuilder b(&parts);
    const int x = b.input("x", kF32, {bounds.least_s, bounds.least_t});
    b.output("y", b.infer(default_ops(), test::relu(), {x}));
    fb::MethodT& m = b.method();
    for (const char* name : {"s", "t"}) {
      m.symbols.push_back(std::make_unique<fb::SymbolT>());
      m.symbols.back()->name = name;
    }
    m.symbols[0]->min = bounds.least_s, m.symbols[0]->max = bounds.most_s;
    m.symbols[1]->min = bounds.least_t, m.symbols[1]->max = bounds.most_t;
    m.values[0]->symbols = {0, 1};
  }
  auto& methods = parts.bundle.methods;
  for (size_t v = 1; v < methods.size(); ++v) methods[0]->variants.push_back(std::move(methods[v]));
  methods.resize(1);
  return write_bundle(parts);
}

/// Of which every run at the largest sizes may try all.
TEST(WorkLimit, HoldsForAllVariantsAtOtherSizes) {
  LoadOptions options;
  options.work_limit = 20000;  // of relu over 1000 elements: ten variants
  const std::vector<Bounds> ten(10, {1, 1000, 1, 1}), eleven(11, {1, 1000, 1, 1});
  const Status taken = Program::load(sized_relus(ten).span(), default_ops(), options).status();
  EXPECT_TRUE(taken.ok()) << taken.message();
  const Status refused = Program::load(sized_relus(eleven).span(), default_ops(), options).status();
  EXPECT_EQ(refused.error(), Error::kLimitExceeded);
  EXPECT_THAT(refused.message(), HasSubstr("at its largest sizes"));
  EXPECT_THAT(refused.message(), HasSubstr("work_limit"));
}

/// Two variants that share no smallest or largest sizes, but some between.
TEST(WorkLimit, HoldsWhereVariantsMeet) {
  const test::AlignedBytes file = sized_relus({{1, 10, 5, 10}, {5, 12, 1, 8}});
  LoadOptions options;
  options.work_limit = 2 * 120;  // both at 10 x 8 take 2 * 160
  const auto program = Program::load(file.span(), default_ops(), options);
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (const Backend* backend : {cpu_backend(), reference_backend()}) {
    SessionOptions session_options;
    session_options.backend = backend;
    auto session = Session::create(program->method(0), session_options);
    ASSERT_TRUE(session.ok()) << session.status().message();
    const auto run = [&](int64_t s, int64_t t) {
      std::vector<float> x(static_cast<size_t>(s * t), -1);
      const Status set = session->set_input(0, {x.data(), kF32, {s, t}});
      return set.ok() ? session->run() : set;
    };
    EXPECT_TRUE(run(10, 10).ok());
    const Status status = run(10, 8);
    EXPECT_EQ(status.error(), Error::kLimitExceeded) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("with s=10, t=8"));
    EXPECT_TRUE(run(12, 4).ok());
    EXPECT_TRUE(run(6, 8).ok());
  }
}

/// Of the math library, some dozen steps each.
TEST(WorkLimit, CountsCallsByTheirTime) {
  fb::UnaryT tangent;
  tangent.fn = fb::UnaryFn::Tan;
  fb::BinaryT remainder;
  remainder.fn = fb::BinaryFn::Fmod;
  const std::function<void(HostileMethod&)> calls[] = {
      [&](HostileMethod& m) { m.node(tangent, {m.input({1000})}); },
      [&](HostileMethod& m) {
        m.node(remainder, {m.input({1000}), m.input({1})});
      },
      [&](HostileMethod& m) { m.node(fb::SoftmaxT(), {m.input({1000})}); },
      [&](HostileMethod& m) {
        rnn<fb::GruT>(m, 1, 3, {400, 1, 1}, 1);
      },
      [&](HostileMethod& m) {
        m.node(fb::GridSampleT(), {m.input({1, 1, 1, 1}), m.input({1, 500, 1, 2})});
      }};
  LoadOptions options;
  options.node_work_limit = 20000;
  for (const auto& build : calls) {
    HostileMethod method;
    build(method);
    EXPECT_EQ(Program::load(method.file().span(), default_ops(), options).status().error(),
              Error::kLimitExceeded);
  }
}

TEST(Work, Saturates) {
  EXPECT_EQ((Work(INT64_MAX) * Work(3)).steps(), UINT64_MAX);
  EXPECT_EQ((Work(INT64_MAX) + Work(INT64_MAX) + Work(5)).steps(), UINT64_MAX);
  EXPECT_EQ((Work(3) * Work(4) + Work(5)).steps(), 17u);
  EXPECT_EQ(Work(-1).steps(), 0u);
  EXPECT_EQ(volume({5, 0, 7, 0}).steps(), 35u);
  EXPECT_EQ(volume({}).steps(), 1u);
  EXPECT_EQ(volume({INT64_MAX, 0, 4}).steps(), UINT64_MAX);
}

}  // namespace
}  // namespace lazyrt
