#include <cstdio>
#include <new>

#include "lazyrt/runtime.h"
#include "runtime/bundle/program_state.h"
#include "runtime/bundle/verifier.h"

namespace lazyrt {
namespace {

ProgramState* make_state() {
  void* memory = platform_allocate(sizeof(ProgramState), alignof(ProgramState));
  return memory == nullptr ? nullptr : new (memory) ProgramState;
}

void destroy_state(ProgramState* state) {
  if (state == nullptr) return;
  state->~ProgramState();
  platform_release(state);
}

Status read_program(Span<const uint8_t> bytes, const OpTable& ops, const LoadOptions& options,
                    ProgramState* state) {
  state->ops = &ops;
  state->bytes = bytes.size();
  LAZYRT_RETURN_IF_ERROR(read_sections(bytes, options.check_data, &state->sections));
  return verify_bundle(state->sections, ops, options.memory_limit);
}

/// "a, b, c" as far as it fits.
class NameList {
 public:
  void add(const char* name) {
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
Result<size_t> find_name(const Vector* items, std::string_view name, const char* what) {
  NameList names;
  for (uint32_t i = 0; i < count_of(items); ++i) {
    const char* candidate = text_of(items->Get(i)->name());
    if (name == candidate) return static_cast<size_t>(i);
    names.add(candidate);
  }
  return Status(Error::kNotFound, "no %s '%.*s'; there is: %s", what,
                static_cast<int>(name.size() < 60 ? name.size() : 60), name.data(), names.text());
}

TensorInfo info_of(const fb::Method& method, const fb::Binding& binding) {
  const TensorSpec spec = spec_of(*method.values()->Get(static_cast<uint32_t>(binding.value())));
  return {text_of(binding.name()), spec.dtype, spec.shape};
}

TensorView view_of(const ProgramState& program, const fb::Blob& blob) {
  TensorView view;
  view.data = const_cast<uint8_t*>(program.sections.samples.data() + blob.offset());
  view.dtype = dtype_of(blob.dtype());
  view.shape = shape_of(blob.shape());
  return view;
}

}  // namespace

Result<Program> Program::load(Span<const uint8_t> bytes, const OpTable& ops,
                              const LoadOptions& options) {
  Program program;
  program.state_ = make_state();
  if (program.state_ == nullptr) return Status(Error::kOutOfMemory, "no memory for a program");
  const Status status = read_program(bytes, ops, options, program.state_);
  if (!status.ok()) return status;
  return program;
}

Result<Program> Program::open(const char* path, const OpTable& ops, const LoadOptions& options) {
  Program program;
  program.state_ = make_state();
  if (program.state_ == nullptr) return Status(Error::kOutOfMemory, "no memory for a program");
  MappedFile& file = program.state_->file;
  LAZYRT_RETURN_IF_ERROR(platform_map_file(path, &file));
  if (file.bytes == 0) return Status(Error::kInvalidBundle, "'%.150s' is empty", path);
  const Status status = read_program({file.data, file.bytes}, ops, options, program.state_);
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

size_t Program::info_count() const { return count_of(state_->sections.bundle->info()); }

InfoEntry Program::info(size_t i) const {
  const auto* entry = state_->sections.bundle->info()->Get(static_cast<uint32_t>(i));
  return {text_of(entry->key()), text_of(entry->value())};
}

const char* Method::name() const { return text_of(program_->method(index_).name()); }
size_t Method::input_count() const { return count_of(program_->method(index_).inputs()); }
size_t Method::output_count() const { return count_of(program_->method(index_).outputs()); }

TensorInfo Method::input(size_t i) const {
  const fb::Method& m = program_->method(index_);
  return info_of(m, *m.inputs()->Get(static_cast<uint32_t>(i)));
}

TensorInfo Method::output(size_t i) const {
  const fb::Method& m = program_->method(index_);
  return info_of(m, *m.outputs()->Get(static_cast<uint32_t>(i)));
}

Result<size_t> Method::find_input(std::string_view name) const {
  return find_name(program_->method(index_).inputs(), name, "input");
}

Result<size_t> Method::find_output(std::string_view name) const {
  return find_name(program_->method(index_).outputs(), name, "output");
}

size_t Method::literal_count() const { return count_of(program_->method(index_).literals()); }

LiteralInfo Method::literal(size_t i) const {
  const fb::Literal& l = *program_->method(index_).literals()->Get(static_cast<uint32_t>(i));
  return {text_of(l.name()), l.position(), dtype_of(l.dtype()), l.integer(), l.real()};
}

size_t Method::sample_count() const { return count_of(program_->method(index_).samples()); }

TensorView Method::sample_input(size_t sample, size_t i) const {
  const fb::Sample& s = *program_->method(index_).samples()->Get(static_cast<uint32_t>(sample));
  return view_of(*program_, *s.inputs()->Get(static_cast<uint32_t>(i)));
}

TensorView Method::sample_output(size_t sample, size_t i) const {
  const fb::Sample& s = *program_->method(index_).samples()->Get(static_cast<uint32_t>(sample));
  return view_of(*program_, *s.outputs()->Get(static_cast<uint32_t>(i)));
}

Tolerance Method::sample_tolerance(size_t sample) const {
  const fb::Sample& s = *program_->method(index_).samples()->Get(static_cast<uint32_t>(sample));
  return {s.absolute(), s.relative()};
}

uint64_t Method::arena_bytes() const { return program_->method(index_).arena_bytes(); }

}  // namespace lazyrt
