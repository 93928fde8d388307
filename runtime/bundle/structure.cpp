#include "runtime/bundle/structure.h"

#include <cstring>

#include "runtime/op/table_layout.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

using flatbuffers::soffset_t;
using flatbuffers::uoffset_t;
using flatbuffers::voffset_t;

/// A table's fields, and the tables behind those of them that have one, in their order.
struct Layout {
  Span<const Field> fields;
  const Layout* const* tables = nullptr;
};

template <class Table>
struct LayoutOf {
  static constexpr size_t kCount = layout::field_count<Table>();
  template <size_t... I>
  struct Lists {
    static constexpr Field kFields[] = {layout::FieldOf<Table, I>::kField...};
    /// Only those that have one are made; the list has one more, so that it is not empty.
    struct Tables {
      const Layout* list[sizeof...(I) + 1] = {};
    };
    template <size_t J>
    static constexpr void add(Tables* tables, size_t* count) {
      using Behind = typename layout::FieldOf<Table, J>::Table;
      if constexpr (!std::is_void_v<Behind>) tables->list[(*count)++] = &LayoutOf<Behind>::kLayout;
    }
    static constexpr Tables make() {
      Tables tables;
      size_t count = 0;
      (add<I>(&tables, &count), ...);
      return tables;
    }
    static constexpr Tables kTables = make();
  };
  template <size_t... I>
  static constexpr Lists<I...> lists(std::index_sequence<I...>);
  using Of = decltype(lists(std::make_index_sequence<kCount>()));
  static const Layout kLayout;
};
template <class Table>
constexpr Layout LayoutOf<Table>::kLayout = {{Of::kFields}, Of::kTables.list};

/// Positions are counted from the first byte; as long as nothing was checked, they may be any.
class Structure {
 public:
  explicit Structure(Span<const uint8_t> bytes) : bytes_(bytes) {}

  bool check_root(const Layout& layout) {
    uoffset_t offset = 0;
    return bytes_.size() >= FLATBUFFERS_MIN_BUFFER_SIZE && read_offset(0, &offset) &&
           check_table(offset, layout);
  }

  bool check_table(size_t at, const Layout& layout) {
    if (++depth_ > kBundleMaxDepth || ++tables_ > kBundleMaxTables) return false;
    soffset_t to_vtable = 0;
    if (!read(at, &to_vtable)) return false;
    const size_t vtable = at - static_cast<size_t>(to_vtable);
    voffset_t vtable_bytes = 0;
    if (!read(vtable, &vtable_bytes) || vtable_bytes % sizeof(voffset_t) != 0 ||
        !holds(vtable, vtable_bytes)) {
      return false;
    }
    const Layout* const* next = layout.tables;
    uint8_t tag = 0;
    size_t stored = sizeof(soffset_t);
    for (size_t i = 0; i < layout.fields.size(); ++i) {
      const Field field = layout.fields[i];
      const Layout* behind = field.has_table() ? *next++ : nullptr;
      const bool is_stored = slot_of(i) < vtable_bytes;
      const voffset_t offset = is_stored ? get<voffset_t>(vtable + slot_of(i)) : voffset_t{0};
      if (offset != 0 && !check_field(at + offset, field, behind, tag)) return false;
      if (offset != 0) stored += field.is_number() ? field.bytes() : sizeof(uoffset_t);
      if (field.is_number()) tag = offset == 0 ? 0 : bytes_[at + offset];
    }
    --depth_;
    walked_ += stored;
    return true;
  }

  uint64_t walked() const { return walked_; }

 private:
  bool holds(size_t at, size_t bytes) const {
    return bytes < bytes_.size() && at <= bytes_.size() - bytes;
  }
  /// REQUIRES: it was found to be there.
  template <class T>
  T get(size_t at) const {
    T value = 0;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  template <class T>
  bool read(size_t at, T* value) const {
    if (at % sizeof(T) != 0 || !holds(at, sizeof(T))) return false;
    *value = get<T>(at);
    return true;
  }
  /// A position that is stored as how far it is behind `at`: neither at it nor before it.
  bool read_offset(size_t at, uoffset_t* offset) const {
    return read(at, offset) && *offset != 0 && *offset <= INT32_MAX && holds(at + *offset, 1);
  }

  /// `tag`: the number before the field, which says what table a union is.
  bool check_field(size_t at, Field field, const Layout* behind, uint8_t tag) {
    if (field.is_number()) return at % field.bytes() == 0 && holds(at, field.bytes());
    uoffset_t offset = 0;
    if (!read_offset(at, &offset)) return false;
    at += offset;
    switch (field.kind()) {
      case Field::Kind::kTable:
        return check_table(at, *behind);
      case Field::Kind::kTables:
        return check_tables(at, *behind);
      case Field::Kind::kUnion:
        return check_operator(at, tag);
      default:
        return check_vector(at, field);
    }
  }

  bool check_vector(size_t at, Field field) {
    uoffset_t count = 0;
    const size_t element = field.bytes();
    if (!read(at, &count) || count >= FLATBUFFERS_MAX_BUFFER_SIZE / element) return false;
    at += sizeof(count);
    const size_t bytes = count * element;
    if (!holds(at - sizeof(count), sizeof(count) + bytes)) return false;
    walked_ += bytes;
    if (field.kind() != Field::Kind::kString) return true;
    return holds(at + bytes, 1) && bytes_[at + bytes] == 0;
  }

  bool check_tables(size_t at, const Layout& layout) {
    if (!check_vector(at, Field(Field::Kind::kNumbers, 2))) return false;
    const auto count = get<uoffset_t>(at);
    for (uoffset_t i = 0; i < count; ++i) {
      at += sizeof(uoffset_t);
      if (!check_table(at + get<uoffset_t>(at), layout)) return false;
    }
    return true;
  }

  bool check_operator(size_t at, uint8_t tag) {
    const auto kind = static_cast<fb::OpAttrs>(tag);
    if (kind == fb::OpAttrs::NONE || kind > fb::OpAttrs::MAX) return true;
    return check_table(at, {fields_of(kind)});
  }

  const Span<const uint8_t> bytes_;
  uint64_t walked_ = 0;
  uint32_t depth_ = 0;
  uint32_t tables_ = 0;
};

}  // namespace

bool is_bundle_structure(Span<const uint8_t> metadata, uint64_t* walked) {
  Structure structure(metadata);
  const bool is_sound = structure.check_root(LayoutOf<fb::Bundle>::kLayout);
  *walked = structure.walked();
  return is_sound;
}

bool is_method_structure(Span<const uint8_t> metadata, const fb::Method& method, uint64_t* walked) {
  const auto at = static_cast<size_t>(reinterpret_cast<const uint8_t*>(&method) - metadata.data());
  Structure structure(metadata);
  const bool is_sound = structure.check_table(at, LayoutOf<fb::Method>::kLayout);
  *walked = structure.walked();
  return is_sound;
}

}  // namespace lazyrt
