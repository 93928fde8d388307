#include "host_tracer/dynamic/terms.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "host_tracer/graph/attrs.h"
#include "host_tracer/support/text_limit.h"

namespace lazyrt {
namespace {

using Op = fb::TermOp;

bool is_leaf(Op op) { return op == Op::Integer || op == Op::Real || op == Op::Symbol; }

TermNumber integer_number(int64_t value) { return {false, value, 0}; }
TermNumber real_number(double value) { return {true, 0, value}; }

std::optional<TermNumber> apply(Op op, const TermNumber& a, const TermNumber& b) {
  TermNumber result;
  return compute_term(op, a, b, &result).ok() ? std::optional(result) : std::nullopt;
}

const char* sign_of(Op op) {
  switch (op) {
    case Op::Add:
      return " + ";
    case Op::Subtract:
      return " - ";
    case Op::Multiply:
      return " * ";
    case Op::FloorDivide:
      return " // ";
    case Op::Remainder:
      return " % ";
    default:
      return " / ";
  }
}

const char* function_of(Op op) {
  switch (op) {
    case Op::SquareRoot:
      return "sqrt";
    case Op::Logarithm:
      return "log";
    case Op::Floor:
      return "floor";
    case Op::Max:
      return "max";
    case Op::Min:
      return "min";
    default:
      return "round";
  }
}

std::string real_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

TermId TermList::add(Op op, TermId a, TermId b, int64_t integer, double real) {
  uint64_t bits = 0;
  std::memcpy(&bits, &real, sizeof bits);
  const auto [it, is_new] =
      known_.try_emplace(Key(op, a, b, integer, bits), static_cast<TermId>(terms_.size()));
  if (is_new) terms_.emplace_back(integer, real, a, b, op);
  return it->second;
}

TermId TermList::integer(int64_t value) { return add(Op::Integer, -1, -1, value, 0); }
TermId TermList::real(double value) { return add(Op::Real, -1, -1, 0, value); }
TermId TermList::symbol(int index) { return add(Op::Symbol, index, -1, 0, 0); }

bool TermList::is_integer(TermId id, int64_t value) const {
  return id >= 0 && at(id).op() == Op::Integer && at(id).integer() == value;
}

bool TermList::is_constant(TermId id) const {
  return id < 0 || at(id).op() == Op::Integer || at(id).op() == Op::Real;
}

TermId TermList::make(Op op, TermId a, TermId b) {
  if (is_constant(a) && is_constant(b)) {
    const auto number = [&](TermId id) {
      if (id < 0) return TermNumber();
      return at(id).op() == Op::Real ? real_number(at(id).real())
                                     : integer_number(at(id).integer());
    };
    const auto result = apply(op, number(a), number(b));
    if (result) return result->is_real ? real(result->real) : integer(result->integer);
  }
  if ((op == Op::Add || op == Op::Subtract) && is_integer(b, 0)) return a;
  if ((op == Op::Multiply || op == Op::FloorDivide) && is_integer(b, 1)) return a;
  const bool by_one = b >= 0 && at(b).op() == Op::Real && at(b).real() == 1;
  if (op == Op::Multiply && by_one && is_of_one(at(a).op())) return a;
  if (op == Op::Add && b >= 0 && at(b).op() == Op::Integer && at(b).integer() < 0)
    return make(Op::Subtract, a, integer(-at(b).integer()));
  return add(op, a, b, 0, 0);
}

std::vector<int> TermList::symbols_in(TermId id) const {
  const fb::Term& term = at(id);
  if (term.op() == Op::Integer || term.op() == Op::Real) return {};
  if (term.op() == Op::Symbol) return {term.a()};
  std::vector<int> found = symbols_in(term.a());
  if (!is_of_one(term.op())) {
    const std::vector<int> more = symbols_in(term.b());
    found.insert(found.end(), more.begin(), more.end());
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<TermNumber> TermList::evaluate(TermId id, const SizePoint& point) const {
  const fb::Term& term = at(id);
  if (term.op() == Op::Integer) return integer_number(term.integer());
  if (term.op() == Op::Real) return real_number(term.real());
  if (term.op() == Op::Symbol) return integer_number(point[static_cast<size_t>(term.a())]);
  const auto a = evaluate(term.a(), point);
  const auto b = term.b() < 0 ? TermNumber() : evaluate(term.b(), point);
  return a && b ? apply(term.op(), *a, *b) : std::nullopt;
}

void TermList::keep(const std::vector<TermId*>& used) {
  std::vector<bool> needed(terms_.size(), false);
  for (const TermId* id : used) needed[static_cast<size_t>(*id)] = true;
  for (size_t i = terms_.size(); i-- > 0;) {
    if (!needed[i] || is_leaf(terms_[i].op())) continue;
    for (const TermId operand : {terms_[i].a(), terms_[i].b()}) {
      if (operand >= 0) needed[static_cast<size_t>(operand)] = true;
    }
  }
  std::vector<TermId> now(terms_.size(), -1);
  const std::vector<fb::Term> before = std::move(terms_);
  terms_.clear();
  known_.clear();
  for (size_t i = 0; i < before.size(); ++i) {
    if (!needed[i]) continue;
    const fb::Term& term = before[i];
    const auto moved = [&](TermId id) {
      return id < 0 || is_leaf(term.op()) ? id : now[static_cast<size_t>(id)];
    };
    now[i] = add(term.op(), moved(term.a()), moved(term.b()), term.integer(), term.real());
  }
  for (TermId* id : used) *id = now[static_cast<size_t>(*id)];
}

namespace {

/// Writes a term until its text is full. Each operation writes something before its operands, so
/// the length bounds time and nesting, too, however often the terms are shared.
class TermWriter {
 public:
  TermWriter(const std::vector<fb::Term>& terms, const std::vector<std::string>& names)
      : terms_(terms), names_(names) {}

  /// `end`: the term is one of those before it.
  void write(TermId id, size_t end) {
    if (is_full()) return;
    if (id < 0 || static_cast<size_t>(id) >= end || at(id).op() > Op::MAX) {
      append("term " + std::to_string(id));
    } else {
      write_known(id);
    }
  }
  std::string take() { return shortened(text_, kMostTermText); }

 private:
  bool is_full() const { return text_.size() > kMostTermText; }
  void append(std::string_view text) { text_ += text.substr(0, kMostTermText + 1); }
  const fb::Term& at(TermId id) const { return terms_[static_cast<size_t>(id)]; }

  void write_known(TermId id) {
    const fb::Term& term = at(id);
    if (is_leaf(term.op())) return write_leaf(term);
    const auto end = static_cast<size_t>(id);
    if (is_of_one(term.op()) || term.op() == Op::Max || term.op() == Op::Min) {
      append(std::string(function_of(term.op())) + "(");
      write(term.a(), end);
      if (!is_of_one(term.op())) append(", ");
      if (!is_of_one(term.op())) write(term.b(), end);
      append(")");
      return;
    }
    write_operand(term.a(), end);
    append(sign_of(term.op()));
    write_operand(term.b(), end);
  }

  void write_leaf(const fb::Term& term) {
    if (term.op() == Op::Integer) return append(std::to_string(term.integer()));
    if (term.op() == Op::Real) return append(real_text(term.real()));
    const bool known = term.a() >= 0 && static_cast<size_t>(term.a()) < names_.size();
    append(known ? names_[static_cast<size_t>(term.a())] : "symbol " + std::to_string(term.a()));
  }

  /// In brackets where it is an operation with a sign.
  void write_operand(TermId id, size_t end) {
    const bool known = id >= 0 && static_cast<size_t>(id) < end;
    const Op op = known ? at(id).op() : Op::Integer;
    const bool plain = is_leaf(op) || is_of_one(op) || op == Op::Max || op == Op::Min;
    if (!plain) append("(");
    write(id, end);
    if (!plain) append(")");
  }

  const std::vector<fb::Term>& terms_;
  const std::vector<std::string>& names_;
  std::string text_;
};

}  // namespace

std::string TermList::text(TermId id, const std::vector<std::string>& names) const {
  TermWriter writer(terms_, names);
  writer.write(id, terms_.size());
  return writer.take();
}

std::string patch_text(fb::OpAttrs kind, const fb::Patch& patch, const TermList& terms,
                       const std::vector<std::string>& names) {
  const flatbuffers::TypeTable* fields = attrs_type_table(kind);
  const auto field = static_cast<size_t>(patch.field());
  std::string text = fields != nullptr && patch.field() >= 0 && field < fields->num_elems
                         ? fields->names[field]
                         : "field " + std::to_string(patch.field());
  if (patch.index() >= 0) text += "[" + std::to_string(patch.index()) + "]";
  return text + " = " + terms.text(patch.term(), names);
}

}  // namespace lazyrt
