#include "tests/fuzz/term_texts.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "host_tracer/dynamic/terms.h"

namespace lazyrt::fuzz {
namespace {

/// Numbers one after the other; zeros behind the last byte.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool is_empty() const { return left_ == 0; }
  template <class T>
  T next() {
    T value = 0;
    const size_t bytes = left_ < sizeof(T) ? left_ : sizeof(T);
    std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

fb::Term next_term(Reader* in) {
  const auto op = static_cast<fb::TermOp>(in->next<uint8_t>());
  const auto a = in->next<int16_t>(), b = in->next<int16_t>(), number = in->next<int16_t>();
  return {number, number / 8.0, a, b, op};
}

std::vector<std::string> names_of(uint8_t count) {
  std::string wide;
  for (int i = 0; i < 300; ++i) wide += "\xe2\x82\xac";
  const std::vector<std::string> all = {"batch", wide, std::string(100, 's'), ""};
  return {all.begin(), all.begin() + count % 5};
}

/// What each term's text is in whole, from the first on; nothing where it is too long.
class WholeTexts {
 public:
  WholeTexts(const std::vector<fb::Term>& terms, const std::vector<std::string>& names)
      : terms_(terms), names_(names) {
    for (size_t i = 0; i < terms.size(); ++i) {
      std::optional<std::string> text = text_of(static_cast<TermId>(i));
      if (text && text->size() > kMostTermText) text.reset();
      texts_.push_back(std::move(text));
    }
  }
  const std::optional<std::string>& operator[](size_t i) const { return texts_[i]; }

 private:
  using Op = fb::TermOp;

  std::optional<std::string> text_of(TermId id) const {
    const fb::Term& term = terms_[static_cast<size_t>(id)];
    switch (term.op()) {
      case Op::Integer:
        return std::to_string(term.integer());
      case Op::Real:
        return real_text(term.real());
      case Op::Symbol:
        return symbol_text(term.a());
      case Op::Max:
      case Op::Min:
        return joined(term.op() == Op::Max ? "max(" : "min(", operand(term.a(), false), ", ",
                      operand(term.b(), false), ")");
      case Op::SquareRoot:
        return joined("sqrt(", operand(term.a(), false), ")", "", "");
      case Op::Logarithm:
        return joined("log(", operand(term.a(), false), ")", "", "");
      case Op::Floor:
        return joined("floor(", operand(term.a(), false), ")", "", "");
      case Op::Round:
        return joined("round(", operand(term.a(), false), ")", "", "");
      case Op::Add:
        return signed_text(term, " + ");
      case Op::Subtract:
        return signed_text(term, " - ");
      case Op::Multiply:
        return signed_text(term, " * ");
      case Op::FloorDivide:
        return signed_text(term, " // ");
      case Op::Remainder:
        return signed_text(term, " % ");
      case Op::Divide:
        return signed_text(term, " / ");
    }
    return "term " + std::to_string(id);
  }

  static std::string real_text(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
  }
  std::string symbol_text(int32_t index) const {
    const bool known = index >= 0 && static_cast<size_t>(index) < names_.size();
    return known ? names_[static_cast<size_t>(index)] : "symbol " + std::to_string(index);
  }
  /// A term that comes before the one that is made now.
  std::optional<std::string> operand(TermId id, bool between_signs) const {
    if (id < 0 || static_cast<size_t>(id) >= texts_.size()) return "term " + std::to_string(id);
    const std::optional<std::string>& text = texts_[static_cast<size_t>(id)];
    const Op op = terms_[static_cast<size_t>(id)].op();
    const bool has_sign = op == Op::Add || op == Op::Subtract || op == Op::Multiply ||
                          op == Op::FloorDivide || op == Op::Remainder || op == Op::Divide;
    return between_signs && has_sign ? joined("(", text, ")", "", "") : text;
  }
  std::optional<std::string> signed_text(const fb::Term& term, const char* sign) const {
    return joined("", operand(term.a(), true), sign, operand(term.b(), true), "");
  }
  static std::optional<std::string> joined(const std::string& before,
                                           const std::optional<std::string>& a,
                                           const std::string& between,
                                           const std::optional<std::string>& b,
                                           const std::string& after) {
    if (!a || !b) return std::nullopt;
    return before + *a + between + *b + after;
  }

  const std::vector<fb::Term>& terms_;
  const std::vector<std::string>& names_;
  std::vector<std::optional<std::string>> texts_;
};

bool is_cut(const std::string& text) {
  return text.size() <= kMostTermText && text.size() + 3 >= kMostTermText &&
         text.compare(text.size() - 3, 3, "...") == 0;
}

}  // namespace

std::string wrong_term_text(const uint8_t* data, size_t size) {
  Reader in(data, size);
  const std::vector<std::string> names = names_of(in.next<uint8_t>());
  const auto kind = static_cast<fb::OpAttrs>(in.next<uint8_t>());
  const auto field = in.next<int16_t>(), index = in.next<int16_t>(), term = in.next<int16_t>();
  std::vector<fb::Term> terms;
  while (!in.is_empty()) terms.push_back(next_term(&in));
  const WholeTexts whole(terms, names);
  const TermList list(terms);
  // The last are made of the others.
  constexpr size_t kAsked = 32;
  for (size_t i = terms.size() - std::min(terms.size(), kAsked); i < terms.size(); ++i) {
    const std::string text = list.text(static_cast<TermId>(i), names);
    const bool right = whole[i] ? text == *whole[i] : is_cut(text);
    if (!right) return "term " + std::to_string(i) + " is '" + text + "'";
  }
  const fb::Patch patch(0, field, index, term, fb::FieldType::Int64);
  const std::string text = patch_text(kind, patch, list, names);
  const std::string end = " = " + list.text(term, names);
  const bool ends =
      text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  constexpr size_t kMostFieldText = 64;
  return ends && text.size() <= end.size() + kMostFieldText ? "" : "the patch is '" + text + "'";
}

}  // namespace lazyrt::fuzz
