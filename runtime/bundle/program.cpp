#include <cstdio>
#include <new>

#include "lazyrt/runtime.h"
#include "runtime/bundle/bound_program.h"
#include "runtime/bundle/method_check.h"
#include "runtime/bundle/verifier.h"
#include "runtime/core/counted_memory.h"
#include "runtime/core/profile.h"

namespace lazyrt {
namespace {

Fault make_state(const AllocatorHooks& hooks, ProgramState** state) {
  if ((hooks.allocate == nullptr) != (hooks.release == nullptr)) {
    return Fault(Error::kInvalidArgument, "LoadOptions::allocator needs both allocate and release");
  }
  const Allocator allocator = hooks.allocate == nullptr
                                  ? platform_allocator()
                                  : Allocator{hooks.context, hooks.allocate, hooks.release};
  void* memory = allocator.allocate(allocator.context, sizeof(ProgramState), alignof(ProgramState));
  if (memory == nullptr) return Fault(Error::kOutOfMemory, "no memory for a program");
  *state = new (memory) ProgramState();
  (*state)->allocator = allocator;
  return {};
}

void destroy_state(ProgramState* state) {
  if (state == nullptr) return;
  const Allocator allocator = state->allocator;
  state->~ProgramState();
  allocator.release(allocator.context, state);
}

Fault read_program(Span<const uint8_t> bytes, const OpTable& ops, const LoadOptions& options,
                   ProgramState* state) {
  state->ops = &ops;
  state->options = options;
  state->bytes = bytes.size();
  LAZYRT_RETURN_IF_ERROR(read_sections(bytes, options.check_data, &state->sections));
  constexpr uint64_t kLeast = uint64_t{16} << 20;
  const uint64_t wanted = memory_limit_of(options.memory_limit);
  const uint64_t limit = wanted < kLeast ? kLeast : wanted;
  CountedMemory memory(state->allocator, limit);
  Fault status = verify_bundle(state->sections, ops, options, memory.allocator());
  if (kDynamicShapes && status.ok()) status = check_bounds(*state, memory.allocator());
  return memory.explained(status, "LoadOptions::memory_limit");
}

/// "a, b, c" as far as it fits.
class NameList {
 public:
  void add(const char* name) {
    if (LAZYRT_MESSAGES == 0) return;
    const int n = snprintf(text_ + used_, sizeof(text_) - used_, used_ == 0 ? "%s" : ", %s", name);
    if (n > 0) used_ += static_cast<size_t>(n);
    if (used_ >= sizeof(text_)) used_ = sizeof(text_) - 1;
  }
  const char* text() const { return used_ == 0 ? "none" : text_; }

 private:
  char text_[120] = {};
  size_t used_ = 0;
};

template <class Vector>
Result<size_t> find_name(const Vector* items, std::string_view name, Word what) {
  NameList names;
  for (uint32_t i = 0; i < count_of(items); ++i) {
    const char* candidate = text_of(items->Get(i)->name());
    if (name == candidate) return static_cast<size_t>(i);
    names.add(candidate);
  }
  return Fault(Error::kNotFound, "no %s '%.*s'; there is: %s", what,
               static_cast<int>(name.size() < 60 ? name.size() : 60), name.data(), names.text());
}

const fb::Value& value_of(const fb::Method& method, const fb::Binding& binding) {
  return value_at(method, binding.value());
}

TensorInfo info_of(const fb::Method& method, const fb::Binding& binding) {
  const TensorSpec spec = spec_of(value_of(method, binding));
  return {text_of(binding.name()), spec.dtype, spec.shape};
}

TensorView view_of(const ProgramState& program, const fb::Blob& blob) {
  TensorView view;
  view.data = const_cast<uint8_t*>(program.sections.samples.data() + blob.offset());
  view.dtype = dtype_of(blob.dtype());
  view.shape = shape_of(blob.shape());
  return view;
}

/// Samples count on over the variants.
const fb::Sample& sample_of(const ProgramState& program, size_t method, size_t sample) {
  for (size_t v = 0;; ++v) {
    const auto* samples = program.variant(method, v).samples();
    if (sample < count_of(samples)) return *samples->Get(static_cast<uint32_t>(sample));
    sample -= count_of(samples);
  }
}

}  // namespace

Result<Program> Program::load(Span<const uint8_t> bytes, const OpTable& ops,
                              const LoadOptions& options) {
  Program program;
  LAZYRT_RETURN_IF_ERROR(make_state(options.allocator, &program.state_));
  const Fault status = read_program(bytes, ops, options, program.state_);
  if (!status.ok()) return status;
  return program;
}

Result<Program> Program::open(const char* path, const OpTable& ops, const LoadOptions& options) {
  Program program;
  LAZYRT_RETURN_IF_ERROR(make_state(options.allocator, &program.state_));
  MappedFile& file = program.state_->file;
  LAZYRT_RETURN_IF_ERROR(platform_map_file(path, &file));
  if (file.bytes == 0) return Fault(Error::kInvalidBundle, "'%.150s' is empty", path);
  const Fault status = read_program({file.data, file.bytes}, ops, options, program.state_);
  if (!status.ok()) return status;
  return program;
}

Program::Program(Program&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }

Program& Program::operator=(Program&& other) noexcept {
  if (this != &other) {
    destroy_state(state_);
    state_ = other.state_;
    other.state_ = nullptr;
  }
  return *this;
}

Program::~Program() { destroy_state(state_); }

size_t Program::method_count() const { return count_of(state_->sections.bundle->methods()); }

Method Program::method(size_t i) const {
  Method method;
  method.program_ = state_;
  method.index_ = i;
  return method;
}

Result<Method> Program::method(std::string_view name) const {
  const Result<size_t> i = find_name(state_->sections.bundle->methods(), name, "method");
  if (!i.ok()) return i.status();
  return method(*i);
}

uint64_t Program::bytes() const { return state_->bytes; }
uint64_t Program::checksum() const { return prolog_checksum_of(state_->sections); }

size_t Program::info_count() const { return count_of(state_->sections.bundle->info()); }

InfoEntry Program::info(size_t i) const {
  const auto* entry = state_->sections.bundle->info()->Get(static_cast<uint32_t>(i));
  return {text_of(entry->key()), text_of(entry->value())};
}

const char* Method::name() const { return text_of(program_->method(index_).name()); }
size_t Method::variant_count() const { return program_->variant_count(index_); }
size_t Method::input_count() const { return count_of(program_->method(index_).inputs()); }
size_t Method::output_count() const { return count_of(program_->method(index_).outputs()); }

TensorInfo Method::input(size_t i, size_t variant) const {
  const fb::Method& m = program_->variant(index_, variant);
  return info_of(m, input_at(m, i));
}

TensorInfo Method::output(size_t i, size_t variant) const {
  const fb::Method& m = program_->variant(index_, variant);
  return info_of(m, output_at(m, i));
}

Result<size_t> Method::find_input(std::string_view name) const {
  return find_name(program_->method(index_).inputs(), name, "input");
}

Result<size_t> Method::find_output(std::string_view name) const {
  return find_name(program_->method(index_).outputs(), name, "output");
}

SymbolInfo Method::variant_symbol(size_t i, size_t variant) const {
  const fb::Method& m = program_->variant(index_, variant);
  return info_of(symbol_at(m, i));
}

Result<size_t> Method::find_state(std::string_view name) const {
  return find_name(program_->method(index_).states(), name, "state");
}

size_t Method::symbol_count() const { return count_of(program_->method(index_).symbols()); }

SymbolInfo Method::symbol(size_t i) const { return bounds_of(program_->method(index_), i); }

int Method::input_symbol(size_t input, int dim) const { return input_extent(input, dim).symbol; }

ExtentInfo Method::input_extent(size_t input, int dim) const {
  const fb::Method& m = program_->method(index_);
  const fb::Value& value = value_of(m, input_at(m, input));
  const ExtentRule rule = rule_of(m, value, dim);
  return {rule.symbol, rule.factor, rule.offset};
}

int Method::output_symbol(size_t output, int dim, size_t variant) const {
  const fb::Method& m = program_->variant(index_, variant);
  const ExtentRule rule = rule_of(m, value_of(m, output_at(m, output)), dim);
  return rule.is_plain() ? rule.symbol : -1;
}

size_t Method::literal_count() const { return count_of(program_->method(index_).literals()); }

LiteralInfo Method::literal(size_t i, size_t variant) const {
  const fb::Method& m = program_->variant(index_, variant);
  const fb::Literal& l = literal_at(m, i);
  return {text_of(l.name()), l.position(), dtype_of(l.dtype()), l.integer(), l.real()};
}

size_t Method::guard_count(size_t variant) const {
  return count_of(program_->variant(index_, variant).guards());
}

GuardInfo Method::guard(size_t i, size_t variant) const {
  const fb::Method& m = program_->variant(index_, variant);
  const fb::Guard& g = guard_at(m, i);
  const DType dtype = dtype_of(value_at(m, g.value()).dtype());
  GuardInfo info;
  info.text = text_of(g.text());
  if (g.source() >= 0) {
    const fb::Source& s = source_at(m, g.source());
    info.file = text_of(s.file());
    info.line = s.line();
  }
  info.dtype = g.kind() == fb::GuardKind::Truth ? DType::kBool
               : is_floating(dtype)             ? DType::kFloat64
                                                : DType::kInt64;
  info.integer = g.seen_integer();
  info.real = g.seen_real();
  info.tolerance = g.tolerance();
  info.check = g.check();
  return info;
}

size_t Method::state_count() const { return count_of(program_->method(index_).states()); }

TensorInfo Method::state(size_t i) const {
  const fb::Method& m = program_->method(index_);
  const fb::State& state = state_at(m, i);
  const TensorSpec spec = spec_of(value_at(m, state.value()));
  return {text_of(state.name()), spec.dtype, spec.shape};
}

size_t Method::sample_count() const {
  size_t count = 0;
  for (size_t v = 0; v < variant_count(); ++v) {
    count += count_of(program_->variant(index_, v).samples());
  }
  return count;
}

size_t Method::sample_variant(size_t sample) const {
  size_t v = 0;
  for (; v + 1 < variant_count(); ++v) {
    const size_t here = count_of(program_->variant(index_, v).samples());
    if (sample < here) break;
    sample -= here;
  }
  return v;
}

TensorView Method::sample_input(size_t sample, size_t i) const {
  const fb::Sample& s = sample_of(*program_, index_, sample);
  return view_of(*program_, *s.inputs()->Get(static_cast<uint32_t>(i)));
}

TensorView Method::sample_output(size_t sample, size_t i) const {
  const fb::Sample& s = sample_of(*program_, index_, sample);
  return view_of(*program_, *s.outputs()->Get(static_cast<uint32_t>(i)));
}

Tolerance Method::sample_tolerance(size_t sample) const {
  const fb::Sample& s = sample_of(*program_, index_, sample);
  return {s.absolute(), s.relative()};
}

uint64_t Method::arena_bytes() const {
  uint64_t bytes = 0;
  for (size_t v = 0; v < variant_count(); ++v) {
    const uint64_t here = program_->variant(index_, v).arena_bytes();
    bytes = here > bytes ? here : bytes;
  }
  return bytes;
}

uint64_t Method::reserved_bytes() const {
  return std::max(arena_bytes(), program_->method(index_).reserved_bytes());
}

}  // namespace lazyrt
