#include "runtime/bundle/symbol_numbers.h"

#include <algorithm>
#include <cfloat>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/bundle/method_check.h"
#include "runtime/op/table_layout.h"

namespace lazyrt {
namespace {

const char* op_name(fb::TermOp op) { return fb::EnumNameTermOp(op); }

/// Checked integer arithmetic. False: the operation has no result.
bool compute_integer(fb::TermOp op, int64_t a, int64_t b, int64_t* out) {
  switch (op) {
    case fb::TermOp::Add:
      return !__builtin_add_overflow(a, b, out);
    case fb::TermOp::Subtract:
      return !__builtin_sub_overflow(a, b, out);
    case fb::TermOp::Multiply:
      return !__builtin_mul_overflow(a, b, out);
    case fb::TermOp::Max:
      *out = std::max(a, b);
      return true;
    case fb::TermOp::Min:
      *out = std::min(a, b);
      return true;
    case fb::TermOp::FloorDivide:
      if (b <= 0) return false;
      *out = a / b - (a % b < 0 ? 1 : 0);
      return true;
    default:  // Remainder
      if (b <= 0) return false;
      *out = a % b + (a % b < 0 ? b : 0);
      return true;
  }
}

double compute_real(fb::TermOp op, double a, double b) {
  switch (op) {
    case fb::TermOp::Add:
      return a + b;
    case fb::TermOp::Subtract:
      return a - b;
    case fb::TermOp::Multiply:
      return a * b;
    case fb::TermOp::Max:
      return std::max(a, b);
    case fb::TermOp::Min:
      return std::min(a, b);
    case fb::TermOp::Divide:
      return a / b;
    case fb::TermOp::SquareRoot:
      return std::sqrt(a);
    default:  // Logarithm
      return std::log(a);
  }
}

bool is_of_integers(fb::TermOp op) {
  return op == fb::TermOp::FloorDivide || op == fb::TermOp::Remainder;
}
Fault make_integer(double value, TermNumber* out) {
  constexpr double kMost = 9007199254740992;  // 2^53: beyond it not every integer is a double
  if (!(std::fabs(value) <= kMost)) return bad_bundle("%g has no integer", value);
  out->integer = static_cast<int64_t>(value);
  return {};
}

Fault make_real(double value, TermNumber* out) {
  if (!std::isfinite(value)) return bad_bundle("the number is not finite");
  out->is_real = true;
  out->real = value;
  return {};
}

}  // namespace

Fault compute_term(fb::TermOp op, const TermNumber& a, const TermNumber& b, TermNumber* out) {
  if (op == fb::TermOp::Floor) return make_integer(std::floor(a.as_real()), out);
  if (op == fb::TermOp::Round) return make_integer(std::nearbyint(a.as_real()), out);
  const bool is_real = op == fb::TermOp::Divide || is_of_one(op) || a.is_real || b.is_real;
  if (is_real && is_of_integers(op)) return bad_bundle("it is of integers only");
  if (is_real) return make_real(compute_real(op, a.as_real(), b.as_real()), out);
  if (compute_integer(op, a.integer, b.integer, &out->integer)) return {};
  if (is_of_integers(op) && b.integer <= 0)
    return bad_bundle("%" PRId64 " by %" PRId64, a.integer, b.integer);
  return bad_bundle("%" PRId64 " and %" PRId64 " overflow", a.integer, b.integer);
}

namespace {

/// Whether it is a number without operands.
bool is_leaf(fb::TermOp op) { return op <= fb::TermOp::Symbol; }

Fault read_leaf(const fb::Term& term, Span<const int64_t> symbols, TermNumber* out) {
  if (term.op() == fb::TermOp::Real) return make_real(term.real(), out);
  out->integer = term.integer();
  if (term.op() == fb::TermOp::Integer) return {};
  if (term.a() < 0 || static_cast<size_t>(term.a()) >= symbols.size())
    return bad_bundle("there is no symbol %d", term.a());
  out->integer = symbols[static_cast<size_t>(term.a())];
  return {};
}

Fault evaluate_term(const fb::Term& term, size_t index, Span<const int64_t> symbols,
                    Span<TermNumber> numbers) {
  if (term.op() > fb::TermOp::MAX) {
    return Fault(Error::kUnsupported, "its operation %d is newer than this runtime",
                 static_cast<int>(term.op()));
  }
  TermNumber& out = numbers[index];
  if (is_leaf(term.op())) return read_leaf(term, symbols, &out);
  const int32_t a = term.a(), b = is_of_one(term.op()) ? term.a() : term.b();
  for (int32_t operand : {a, b}) {
    if (operand < 0 || static_cast<size_t>(operand) >= index)
      return bad_bundle("operand %d is not an earlier term", operand);
  }
  return compute_term(term.op(), numbers[static_cast<size_t>(a)], numbers[static_cast<size_t>(b)],
                      &out);
}

template <class T>
void put(T value, PatchBytes* out) {
  std::memcpy(out->bytes, &value, sizeof(T));
}

uint32_t width_of(fb::FieldType type) {
  return type == fb::FieldType::Int32 || type == fb::FieldType::Float32 ? 4 : 8;
}

Fault encode(const TermNumber& number, fb::FieldType type, PatchBytes* out) {
  const bool real_field = type == fb::FieldType::Float32 || type == fb::FieldType::Float64;
  if (number.is_real && !real_field) return bad_bundle("a real number for an integer field");
  switch (type) {
    case fb::FieldType::Int32:
      if (number.integer < INT32_MIN || number.integer > INT32_MAX)
        return bad_bundle("%" PRId64 " does not fit into 32 bits", number.integer);
      put(static_cast<int32_t>(number.integer), out);
      return {};
    case fb::FieldType::Int64:
      put(number.integer, out);
      return {};
    case fb::FieldType::Float64:
      put(number.as_real(), out);
      return {};
    default:
      if (std::fabs(number.as_real()) > static_cast<double>(FLT_MAX))
        return bad_bundle("%g does not fit into 32 bits", number.as_real());
      put(static_cast<float>(number.as_real()), out);
      return {};
  }
}

template <class T>
bool is_close(const uint8_t* stored, const uint8_t* given, T rounding) {
  T x = 0, y = 0;
  std::memcpy(&x, stored, sizeof(T));
  std::memcpy(&y, given, sizeof(T));
  return std::fabs(x - y) <= rounding * std::fabs(y);
}

}  // namespace

SizesText sizes_text(const fb::Method& method, Span<const int64_t> symbols) {
  SizesText out = {};
  if (LAZYRT_MESSAGES == 0) return out;
  size_t used = 0;
  for (size_t i = 0; i < symbols.size() && used < sizeof(out.text); ++i) {
    const char* name = text_of(symbol_at(method, i).name());
    const int n = snprintf(out.text + used, sizeof(out.text) - used, "%s%.30s=%" PRId64,
                           i == 0 ? "" : ", ", name, symbols[i]);
    used += n > 0 ? static_cast<size_t>(n) : 0;
  }
  return out;
}

Fault evaluate_terms(const fb::Method& method, Span<const int64_t> symbols, Pool* memory,
                     Span<TermNumber>* numbers) {
  const auto* terms = method.terms();
  if (terms == nullptr) return {};
  if (reinterpret_cast<uintptr_t>(terms->Data()) % alignof(fb::Term) != 0)
    return bad_bundle("its terms are not aligned");
  *numbers = memory->make<TermNumber>(terms->size());
  if (memory->is_short()) return no_memory_to_check();
  for (uint32_t i = 0; i < terms->size(); ++i) {
    const fb::Term& term = *terms->Get(i);
    const Fault status = evaluate_term(term, i, symbols, *numbers);
    if (!status.ok()) {
      return status.with_context("term %u (%s)", static_cast<unsigned>(i), op_name(term.op()));
    }
  }
  return {};
}

Fault find_patch(Span<const uint8_t> metadata, const fb::Method& method, const fb::Patch& patch,
                 PatchBytes* out) {
  const int32_t index = patch.index();
  out->width = width_of(patch.type());
  if (patch.node() < 0 || static_cast<size_t>(patch.node()) >= count_of(method.nodes()))
    return bad_bundle("there is no node %d", patch.node());
  const fb::Node& node = node_at(method, patch.node());
  const Span<const Field> fields = fields_of(node.op_type());
  const auto i = static_cast<size_t>(patch.field());
  if (i >= fields.size()) return bad_bundle("node %d has no field %d", patch.node(), patch.field());
  const auto& table = *static_cast<const flatbuffers::Table*>(node.op());
  const Field::Kind wanted = index == -1 ? Field::Kind::kNumber : Field::Kind::kNumbers;
  const uint8_t* place = table.GetAddressOf(slot_of(i));
  if (place == nullptr || fields[i].kind() != wanted || fields[i].bytes() != out->width)
    return bad_bundle("field %d of node %d does not have the patch's type", patch.field(),
                      patch.node());
  if (index != -1) {
    // The position of a vector's length does not depend on the type of its elements.
    const auto* vector = table.GetPointer<const flatbuffers::Vector<uint8_t>*>(slot_of(i));
    if (static_cast<uint32_t>(index) >= vector->size())
      return bad_bundle("element %d of %" PRIu32, index, vector->size());
    place = vector->Data() + static_cast<size_t>(index) * out->width;
  }
  out->offset = static_cast<uint64_t>(place - metadata.data());
  if (out->offset % out->width == 0) return {};
  return bad_bundle("field %d of node %d is not aligned", patch.field(), patch.node());
}

Fault make_patch(Span<const uint8_t> metadata, const fb::Method& method, const fb::Patch& patch,
                 Span<const TermNumber> numbers, PatchBytes* out) {
  if (patch.type() > fb::FieldType::MAX) {
    return Fault(Error::kUnsupported, "its field type %d is newer than this runtime",
                 static_cast<int>(patch.type()));
  }
  if (patch.term() < 0 || static_cast<size_t>(patch.term()) >= numbers.size())
    return bad_bundle("there is no term %d", patch.term());
  LAZYRT_RETURN_IF_ERROR(encode(numbers[static_cast<size_t>(patch.term())], patch.type(), out)
                             .with_context("term %d for node %d", patch.term(), patch.node()));
  return find_patch(metadata, method, patch, out);
}

bool is_patched(Span<const uint8_t> metadata, fb::FieldType type, const PatchBytes& patch) {
  const uint8_t* stored = metadata.data() + patch.offset;
  if (type == fb::FieldType::Float32) return is_close<float>(stored, patch.bytes, 1e-6f);
  if (type == fb::FieldType::Float64) return is_close<double>(stored, patch.bytes, 1e-13);
  return std::memcmp(stored, patch.bytes, patch.width) == 0;
}

}  // namespace lazyrt
