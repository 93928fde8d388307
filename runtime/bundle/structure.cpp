#include "runtime/bundle/structure.h"

#include <algorithm>
#include <cstring>

#include "runtime/op/table_layout.h"
#include "schema/bundle_file.h"

namespace lazyrt {
namespace {

using flatbuffers::soffset_t;
using flatbuffers::uoffset_t;
using flatbuffers::voffset_t;

/// Vtables that are remembered, on the stack.
constexpr size_t kSeen = 16;

/// The tables that a bundle consists of, without the attributes of operators.
constexpr TableFields<fb::Bundle, fb::Method, fb::Value, fb::Quantization, fb::Node, fb::Source,
                      fb::Binding, fb::Literal, fb::Symbol, fb::State, fb::Guard, fb::Sample,
                      fb::Blob, fb::KeyValue>
    kTables;
template <class Table>
constexpr size_t kNumberOf = kTables.number_of<Table>();

/// What was found about a table; the same holds for other tables of its kind with the same vtable,
/// as most have.
struct Seen {
  const Field* fields = nullptr;
  size_t vtable = 0;
  uint32_t end = 0;         ///< of its last field
  uint32_t references = 0;  ///< bit i: field i is there, and leads elsewhere
  uint16_t stored = 0;      ///< bytes of all its fields
  uint8_t field_count = 0;
  uint8_t at = 0;         ///< where it is, as far as its alignment goes
  uint8_t alignment = 0;  ///< the greatest of its numbers - 1

  bool is_of(size_t table, size_t its_vtable, Span<const Field> its_fields) const {
    return vtable == its_vtable && fields == its_fields.data() &&
           field_count == its_fields.size() && ((table ^ at) & alignment) == 0;
  }
};

/// Positions are counted from the first byte; until they are checked, they may have any value.
class Structure {
 public:
  explicit Structure(Span<const uint8_t> bytes) : bytes_(bytes) {}

  bool check_root() {
    uoffset_t offset = 0;
    return bytes_.size() >= FLATBUFFERS_MIN_BUFFER_SIZE && read(0, &offset) && offset != 0 &&
           offset <= INT32_MAX && check_table(offset, kTables.of(kNumberOf<fb::Bundle>));
  }

  bool check_table(size_t at, Span<const Field> fields) {
    if (++depth_ > kBundleMaxDepth || ++tables_ > kBundleMaxTables) return false;
    soffset_t to_vtable = 0;
    if (!read(at, &to_vtable)) return false;
    const size_t vtable = at - static_cast<size_t>(to_vtable);
    Seen& seen = seen_[vtable / sizeof(voffset_t) % kSeen];
    if ((!seen.is_of(at, vtable, fields) && !look_at(at, vtable, fields, &seen)) ||
        seen.end > bytes_.size() - at) {
      return false;
    }
    facts_.walked += seen.stored;
    for (uint32_t left = seen.references; left != 0; left &= left - 1) {
      const auto i = static_cast<size_t>(__builtin_ctz(left));
      if (!check_reference(at, vtable, i, fields)) return false;
    }
    --depth_;
    return true;
  }

  const StructureFacts& facts() const { return facts_; }

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
  /// Checks all of a table except where its fields end and what its references lead to.
  bool look_at(size_t at, size_t vtable, Span<const Field> fields, Seen* seen) const {
    voffset_t vtable_bytes = 0;
    if (!read(vtable, &vtable_bytes) || vtable_bytes % sizeof(voffset_t) != 0 ||
        !holds(vtable, vtable_bytes)) {
      return false;
    }
    *seen = {fields.data(), vtable};
    seen->field_count = static_cast<uint8_t>(fields.size());
    seen->at = static_cast<uint8_t>(at);
    seen->stored = sizeof(soffset_t);
    for (size_t i = 0; i < fields.size() && slot_of(i) < vtable_bytes; ++i) {
      const uint32_t offset = get<voffset_t>(vtable + slot_of(i));
      if (offset == 0) continue;
      const Field field = fields[i];
      const uint32_t bytes = field.is_number() ? 1u << field.size() : sizeof(uoffset_t);
      if (((at + offset) & (bytes - 1)) != 0) return false;
      if (!field.is_number()) seen->references |= 1u << i;
      seen->alignment |= static_cast<uint8_t>(bytes - 1);
      seen->stored = static_cast<uint16_t>(seen->stored + bytes);
      seen->end = std::max(seen->end, offset + bytes);
    }
    return true;
  }

  /// What field i of the table leads to. REQUIRES: it was tried at.
  bool check_reference(size_t table, size_t vtable, size_t i, Span<const Field> fields) {
    const Field field = fields[i];
    size_t at = table + get<voffset_t>(vtable + slot_of(i));
    const auto ahead = get<uoffset_t>(at);
    if (ahead == 0 || ahead > INT32_MAX) return false;
    at += ahead;
    switch (field.kind()) {
      case Field::Kind::kTable:
        return check_table(at, kTables.of(field.size()));
      case Field::Kind::kTables:
        return check_tables(at, kTables.of(field.size()));
      case Field::Kind::kUnion: {
        const size_t tag = get<voffset_t>(vtable + slot_of(i - 1));
        return check_operator(at, tag == 0 ? uint8_t{0} : bytes_[table + tag]);
      }
      case Field::Kind::kString:
        return check_vector(at, field.bytes(), true) && note_text(get<uoffset_t>(at), fields);
      default:
        return check_vector(at, field.bytes(), false);
    }
  }

  /// `fields`: of the table that has the text. Always true.
  bool note_text(uoffset_t bytes, Span<const Field> fields) {
    if (fields.data() == kTables.of(kNumberOf<fb::KeyValue>).data()) return true;
    const bool is_text = fields.data() == kTables.of(kNumberOf<fb::Guard>).data();
    uint32_t& longest = is_text ? facts_.longest_text : facts_.longest_name;
    longest = std::max(longest, bytes);
    return true;
  }

  /// A string has a zero behind it.
  bool check_vector(size_t at, size_t element, bool is_string) {
    uoffset_t count = 0;
    if (!read(at, &count)) return false;
    at += sizeof(count);
    const uint64_t bytes = uint64_t{count} * element;
    const uint64_t room = bytes_.size() - at;
    if (bytes > room || (is_string && (bytes == room || bytes_[at + bytes] != 0))) return false;
    facts_.walked += bytes;
    return true;
  }

  bool check_tables(size_t at, Span<const Field> fields) {
    if (!check_vector(at, sizeof(uoffset_t), false)) return false;
    const auto count = get<uoffset_t>(at);
    for (uoffset_t i = 0; i < count; ++i) {
      at += sizeof(uoffset_t);
      if (!check_table(at + get<uoffset_t>(at), fields)) return false;
    }
    return true;
  }

  bool check_operator(size_t at, uint8_t tag) {
    const auto kind = static_cast<fb::OpAttrs>(tag);
    if (kind == fb::OpAttrs::NONE || kind > fb::OpAttrs::MAX) return holds(at, 1);
    return check_table(at, fields_of(kind));
  }

  const Span<const uint8_t> bytes_;
  Seen seen_[kSeen];
  StructureFacts facts_;
  uint32_t depth_ = 0;
  uint32_t tables_ = 0;
};

}  // namespace

bool is_bundle_structure(Span<const uint8_t> metadata, StructureFacts* facts) {
  Structure structure(metadata);
  const bool is_sound = structure.check_root();
  *facts = structure.facts();
  return is_sound;
}

bool is_method_structure(Span<const uint8_t> metadata, const fb::Method& method,
                         StructureFacts* facts) {
  const auto at = static_cast<size_t>(reinterpret_cast<const uint8_t*>(&method) - metadata.data());
  Structure structure(metadata);
  const bool is_sound = structure.check_table(at, kTables.of(kNumberOf<fb::Method>));
  *facts = structure.facts();
  return is_sound;
}

}  // namespace lazyrt
