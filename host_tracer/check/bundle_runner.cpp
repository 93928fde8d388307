#include "host_tracer/check/bundle_runner.h"

#include <algorithm>
#include <cstring>

namespace lazyrt {
namespace {

Outcome<Session> make_session(const Method& method) {
  SessionOptions options;
  options.backend = cpu_backend();
  auto session = Session::create(method, options);
  if (!session.ok()) return session.status();
  return std::move(*session);
}

SampleTensor owned(const TensorView& view) {
  const auto bytes = static_cast<size_t>(view.bytes());
  const std::shared_ptr<uint8_t[]> copy(new uint8_t[std::max<size_t>(bytes, 1)]);
  if (bytes > 0) std::memcpy(copy.get(), view.data, bytes);
  SampleTensor tensor{view.dtype, {view.shape.begin(), view.shape.end()}, {}};
  tensor.data = {copy, copy.get(), bytes};
  return tensor;
}

SeenNumber number_of(const LiteralInfo& literal) {
  if (literal.dtype == DType::kBool) return literal.integer != 0;
  if (literal.dtype == DType::kInt64) return literal.integer;
  return literal.real;
}

}  // namespace

BundleRunner::BundleRunner(const Method& method, Session session)
    : method_(method), session_(std::move(session)) {}

Outcome<std::unique_ptr<BundleRunner>> BundleRunner::make(const Program& program) {
  const Method method = program.method(size_t{0});
  auto session = make_session(method);
  if (!session.ok()) return session.failure();
  return std::unique_ptr<BundleRunner>(new BundleRunner(method, std::move(*session)));
}

Outcome<BundleRun> BundleRunner::run(const std::vector<SampleTensor>& inputs, bool reset) {
  if (reset) {
    const Status status = session_.reset_state();
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SampleTensor& input = inputs[i];
    TensorView view{const_cast<uint8_t*>(input.data.data), input.dtype, {}};
    for (const int64_t extent : input.shape) view.shape.append(extent);
    const Status status = session_.set_input(i, view);
    if (!status.ok()) return status;
  }
  const Status ran = session_.run();
  if (!ran.ok()) return ran;
  return collect();
}

Outcome<BundleRun> BundleRunner::collect() const {
  BundleRun run;
  const auto variant = session_.variant();
  if (!variant.ok()) return variant.status();
  run.variant = *variant;
  const size_t count = method_.output_count() + method_.literal_count();
  std::vector<const char*> literals(count, nullptr);
  run.outputs.resize(count);
  for (size_t i = 0; i < method_.literal_count(); ++i) {
    const LiteralInfo literal = method_.literal(i, run.variant);
    run.outputs[literal.position].number = number_of(literal);
    literals[literal.position] = literal.name;
  }
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    if (literals[i] != nullptr) {
      run.names.emplace_back(literals[i]);
      continue;
    }
    const auto view = session_.output(next);
    if (!view.ok()) return view.status();
    run.outputs[i].tensor = owned(*view);
    run.names.emplace_back(method_.output(next++, run.variant).name);
  }
  return run;
}

}  // namespace lazyrt
