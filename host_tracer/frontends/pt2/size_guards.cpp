#include "host_tracer/frontends/pt2/size_guards.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace lazyrt {
namespace {

using Number = std::optional<int64_t>;

int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// a op b; nothing where it overflows, divides by less than 1, or the operator is not known.
Number compute(std::string_view op, const Number& a, const Number& b) {
  if (!a || !b) return std::nullopt;
  int64_t made = 0;
  if (op == "+" && !__builtin_add_overflow(*a, *b, &made)) return made;
  if (op == "-" && !__builtin_sub_overflow(*a, *b, &made)) return made;
  if (op == "*" && !__builtin_mul_overflow(*a, *b, &made)) return made;
  if (op == "//" && *b > 0) return floor_quotient(*a, *b);
  if (op == "%" && *b > 0) return *a - floor_quotient(*a, *b) * *b;
  if (op == "Max") return std::max(*a, *b);
  if (op == "Min") return std::min(*a, *b);
  if (op == "==") return *a == *b;
  if (op == "!=") return *a != *b;
  if (op == "<=") return *a <= *b;
  if (op == ">=") return *a >= *b;
  if (op == "<") return *a < *b;
  if (op == ">") return *a > *b;
  return std::nullopt;
}

/// Reads Python's grammar from the loosest operator to the tightest. What it does not know makes
/// the whole unknown.
class GuardReader {
 public:
  GuardReader(std::string_view text, const SizeOf& size_of) : text_(text), size_of_(size_of) {}

  std::optional<bool> read() {
    const Number value = disjunction();
    skip_space();
    if (!known_ || !value || at_ != text_.size()) return std::nullopt;
    return *value != 0;
  }

 private:
  static constexpr int kMostNested = 100;

  Number unknown() {
    known_ = false;
    at_ = text_.size();
    return std::nullopt;
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    const size_t end = at_ + token.size();
    const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
    at_ = end;
    return true;
  }

  template <class Next>
  Number row(std::initializer_list<std::string_view> ops, const Next& next) {
    Number value = next();
    for (bool more = true; more;) {
      more = false;
      for (const std::string_view op : ops) {
        if (!take(op)) continue;
        value = compute(op, value, next());
        more = true;
        break;
      }
    }
    return value;
  }

  Number disjunction() {
    Number value = conjunction();
    while (take("or")) {
      const Number other = conjunction();
      value = value && other ? Number(*value != 0 || *other != 0) : std::nullopt;
    }
    return value;
  }

  Number conjunction() {
    Number value = negation();
    while (take("and")) {
      const Number other = negation();
      value = value && other ? Number(*value != 0 && *other != 0) : std::nullopt;
    }
    return value;
  }

  Number negation() {
    if (!take("not")) return comparison();
    const Number value = comparison();
    return value ? Number(*value == 0) : value;
  }

  Number comparison() {
    const auto next = [this] { return sum(); };
    const Number left = next();
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (take(op)) return compute(op, left, next());
    }
    return left;
  }

  Number sum() {
    return row({"+", "-"}, [this] { return product(); });
  }

  Number product() {
    return row({"//", "*", "%"}, [this] { return atom(); });
  }

  Number atom() {
    if (++depth_ > kMostNested) return unknown();
    const Number value = inner_atom();
    --depth_;
    return value;
  }

  Number inner_atom() {
    if (take("-")) return compute("-", 0, atom());
    if (take("(")) return closed(disjunction());
    for (const std::string_view name : {"Max", "Min"}) {
      if (take(name)) return take("(") ? call(name) : unknown();
    }
    if (take("L")) return size();
    return whole();
  }

  Number closed(const Number& value) { return take(")") ? value : unknown(); }

  Number call(std::string_view name) {
    Number value = disjunction();
    while (take(",")) value = compute(name, value, disjunction());
    return closed(value);
  }

  Number whole() {
    skip_space();
    int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [last, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) return unknown();
    at_ += static_cast<size_t>(last - begin);
    return value;
  }

  /// L['pair'][0].size()[1], behind the L: dim 1 of the input "pair_0".
  Number size() {
    std::string name;
    while (take("[")) {
      const size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) return unknown();
      std::string key(text_.substr(at_, end - at_));
      key.erase(std::remove(key.begin(), key.end(), '\''), key.end());
      name += (name.empty() ? "" : "_") + key;
      at_ = end + 1;
    }
    if (!take(".size()[")) return unknown();
    const Number dim = whole();
    if (!dim || !take("]")) return unknown();
    const Number size = size_of_(name, *dim);
    return size ? size : unknown();
  }

  std::string_view text_;
  const SizeOf& size_of_;
  size_t at_ = 0;
  int depth_ = 0;
  bool known_ = true;
};

}  // namespace

std::optional<bool> guard_holds(const std::string& guard, const SizeOf& size_of) {
  return GuardReader(guard, size_of).read();
}

}  // namespace lazyrt
