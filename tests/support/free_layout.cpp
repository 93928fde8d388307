#include "tests/support/free_layout.h"

#include <cstring>

#include "tests/support/reflect.h"

namespace lazyrt::test {
namespace {

using flatbuffers::ReadScalar;
using flatbuffers::TypeTable;
using flatbuffers::WriteScalar;

class Layout {
 public:
  Layout(Span<const uint8_t> from, size_t spare_slots, const ChooseFirst& first)
      : from_(from.data()), spare_slots_(spare_slots), first_(first), bytes_(from_, from_ + 8) {}

  std::vector<uint8_t> run() {
    refer(0, add_table(from_ + ReadScalar<uint32_t>(from_), fb::BundleTypeTable(), 0));
    bytes_.resize(align_up(bytes_.size(), 8));
    return std::move(bytes_);
  }

 private:
  /// A reference in the new bytes, and the old part that it has to lead to.
  struct Child {
    size_t where;
    const uint8_t* part;
    const TypeTable* type;  ///< nullptr: of numbers or characters
    size_t element;         ///< bytes of one; 0: no vector
    size_t spare_slots;
  };

  static size_t align_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
  void refer(size_t where, size_t to) {
    WriteScalar(bytes_.data() + where, static_cast<uint32_t>(to - where));
  }

  /// Appends bytes that are aligned as they were.
  size_t append(const uint8_t* part, size_t size) {
    while (bytes_.size() % 8 != static_cast<size_t>(part - from_) % 8) bytes_.push_back(0);
    bytes_.insert(bytes_.end(), part, part + size);
    return bytes_.size() - size;
  }

  size_t add_table(const uint8_t* table, const TypeTable* type, size_t spare_slots) {
    const uint8_t* old = table - ReadScalar<int32_t>(table);
    const auto old_bytes = ReadScalar<uint16_t>(old);
    const size_t vtable_bytes =
        spare_slots == 0 ? old_bytes : 4 + 2 * (type->num_elems + spare_slots);
    bytes_.resize(align_up(bytes_.size(), 2));
    const size_t vtable = bytes_.size();
    bytes_.insert(bytes_.end(), old, old + old_bytes);
    bytes_.resize(vtable + vtable_bytes);
    WriteScalar(bytes_.data() + vtable, static_cast<uint16_t>(vtable_bytes));
    const size_t at = append(table, ReadScalar<uint16_t>(old + 2));
    WriteScalar(bytes_.data() + at, static_cast<int32_t>(at - vtable));
    add_children(children_of(table, at, type));
    return at;
  }

  std::vector<Child> children_of(const uint8_t* table, size_t at, const TypeTable* type) const {
    std::vector<Child> children;
    uint8_t kind = 0;
    for (size_t i = 0; i < type->num_elems; ++i) {
      const auto field = reinterpret_cast<const flatbuffers::Table*>(table)->GetOptionalFieldOffset(
          static_cast<flatbuffers::voffset_t>(4 + 2 * i));
      if (field == 0) continue;
      const flatbuffers::TypeCode code = type->type_codes[i];
      const auto base = static_cast<flatbuffers::ElementaryType>(code.base_type);
      const uint8_t last_kind = kind;
      kind = table[field];
      const bool is_vector = code.is_repeating != 0;
      if (!is_vector && scalar_bytes(base) != 0) continue;
      Child child = {at + field, table + field + ReadScalar<uint32_t>(table + field), nullptr,
                     is_vector ? scalar_bytes(base) : 0, 0};
      if (base == flatbuffers::ET_STRING) child.element = 1;
      if (base == flatbuffers::ET_SEQUENCE) {
        child.type = type->type_refs[code.sequence_ref]();
        if (child.type->st == flatbuffers::ST_UNION) {
          child.type = &attributes_type(static_cast<fb::OpAttrs>(last_kind));
          child.spare_slots = spare_slots_;
        } else if (child.type->st == flatbuffers::ST_STRUCT) {
          child.element = static_cast<size_t>(child.type->values[child.type->num_elems]);
          child.type = nullptr;
        } else if (is_vector) {
          child.element = 4;
        }
      }
      children.push_back(child);
    }
    return children;
  }

  void add_children(std::vector<Child> children) {
    while (!children.empty()) {
      const size_t next = first_ == nullptr ? 0 : first_(children.size());
      const Child child = children[next];
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(next));
      refer(child.where, child.element == 0 ? add_table(child.part, child.type, child.spare_slots)
                                            : add_vector(child));
    }
  }

  size_t add_vector(const Child& vector) {
    const auto count = ReadScalar<uint32_t>(vector.part);
    const size_t at = append(vector.part, 4 + count * vector.element);
    if (vector.type == nullptr) {
      bytes_.push_back(0);  // behind a text
      return at;
    }
    std::vector<Child> tables;
    for (size_t i = 4; i < 4 + 4 * size_t{count}; i += 4) {
      const uint8_t* element = vector.part + i;
      tables.push_back({at + i, element + ReadScalar<uint32_t>(element), vector.type, 0, 0});
    }
    add_children(std::move(tables));
    return at;
  }

  const uint8_t* const from_;
  const size_t spare_slots_;
  const ChooseFirst& first_;
  std::vector<uint8_t> bytes_;
};

uint8_t* in_place(std::vector<uint8_t>* metadata, const void* part) {
  return metadata->data() + (static_cast<const uint8_t*>(part) - metadata->data());
}

}  // namespace

std::vector<uint8_t> lay_out(Span<const uint8_t> metadata, size_t spare_slots,
                             const ChooseFirst& first) {
  return Layout(metadata, spare_slots, first).run();
}

const TypeTable& attributes_type(fb::OpAttrs kind) {
  const TypeTable* operators = fb::OpAttrsTypeTable();
  return *operators->type_refs[operators->type_codes[static_cast<size_t>(kind)].sequence_ref]();
}

const fb::Method& variant_in(const std::vector<uint8_t>& metadata, size_t method, size_t variant) {
  const fb::Method& m =
      *fb::GetBundle(metadata.data())->methods()->Get(static_cast<uint32_t>(method));
  return variant == 0 ? m : *m.variants()->Get(static_cast<uint32_t>(variant - 1));
}

bool is_in_reach(const void* table, const void* place) {
  const std::ptrdiff_t distance =
      static_cast<const uint8_t*>(place) - static_cast<const uint8_t*>(table);
  return distance > 0 && distance <= UINT16_MAX;
}

void lead_slot(std::vector<uint8_t>* metadata, const void* table, size_t slot, const void* place) {
  const uint8_t* at = in_place(metadata, table);
  uint8_t* vtable = in_place(metadata, at - ReadScalar<int32_t>(at));
  WriteScalar(vtable + 4 + 2 * slot,
              static_cast<uint16_t>(static_cast<const uint8_t*>(place) - at));
}

Switch add_switch(fb::MethodT* method, int symbol) {
  auto& terms = method->terms;
  const auto add = [&](fb::TermOp op, int a, int b) {
    terms.emplace_back(0, 0, a, b, op);
    return static_cast<int>(terms.size()) - 1;
  };
  const auto number = [&](int64_t n) {
    terms.emplace_back(n, 0, 0, 0, fb::TermOp::Integer);
    return static_cast<int>(terms.size()) - 1;
  };
  Switch made;
  made.at = number(0);
  made.otherwise = number(0);
  made.change = number(0);
  const int zero = number(0), one = number(1);
  const int from = add(fb::TermOp::Subtract, add(fb::TermOp::Symbol, symbol, 0), made.at);
  const int distance = add(fb::TermOp::Max, from, add(fb::TermOp::Subtract, zero, from));
  const int is_there = add(fb::TermOp::Max, zero, add(fb::TermOp::Subtract, one, distance));
  made.term =
      add(fb::TermOp::Add, made.otherwise, add(fb::TermOp::Multiply, is_there, made.change));
  return made;
}

void set_switch(std::vector<uint8_t>* metadata, const fb::Method& method, const Switch& numbers,
                int64_t size, int64_t then, int64_t otherwise) {
  const auto set = [&](int term, int64_t number) {
    const fb::Term changed(number, 0, 0, 0, fb::TermOp::Integer);
    std::memcpy(in_place(metadata, method.terms()->Get(static_cast<uint32_t>(term))), &changed,
                sizeof(changed));
  };
  set(numbers.at, size);
  set(numbers.otherwise, otherwise);
  set(numbers.change,
      static_cast<int64_t>(static_cast<uint64_t>(then) - static_cast<uint64_t>(otherwise)));
}

}  // namespace lazyrt::test
