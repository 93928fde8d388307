#include "host_tracer/dynamic/terms.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "host_tracer/graph/attrs.h"

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
    case Op::Divide:
      return " / ";
    default:
      return ", ";
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

TermId TermList::copy_of(const TermList& from, TermId id) {
  if (id < 0) return id;
  const fb::Term& term = from.at(id);
  if (term.op() == Op::Integer) return integer(term.integer());
  if (term.op() == Op::Real) return real(term.real());
  if (term.op() == Op::Symbol) return symbol(term.a());
  const TermId a = copy_of(from, term.a());
  return make(term.op(), a, is_of_one(term.op()) ? -1 : copy_of(from, term.b()));
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

std::string TermList::text(TermId id, const std::vector<std::string>& names) const {
  const fb::Term& term = at(id);
  const auto operand = [&](TermId of) {
    const Op op = at(of).op();
    const bool plain = is_leaf(op) || is_of_one(op) || op == Op::Max || op == Op::Min;
    return plain ? text(of, names) : "(" + text(of, names) + ")";
  };
  switch (term.op()) {
    case Op::Integer:
      return std::to_string(term.integer());
    case Op::Real:
      return real_text(term.real());
    case Op::Symbol:
      return names[static_cast<size_t>(term.a())];
    case Op::SquareRoot:
    case Op::Logarithm:
    case Op::Floor:
    case Op::Round:
      return std::string(function_of(term.op())) + "(" + text(term.a(), names) + ")";
    case Op::Max:
    case Op::Min:
      return (term.op() == Op::Max ? "max(" : "min(") + text(term.a(), names) + ", " +
             text(term.b(), names) + ")";
    default:
      return operand(term.a()) + sign_of(term.op()) + operand(term.b());
  }
}

std::string patch_text(fb::OpAttrs kind, const fb::Patch& patch, const TermList& terms,
                       const std::vector<std::string>& names) {
  std::string text = attrs_type_table(kind)->names[patch.field()];
  if (patch.index() >= 0) text += "[" + std::to_string(patch.index()) + "]";
  return text + " = " + terms.text(patch.term(), names);
}

}  // namespace lazyrt
