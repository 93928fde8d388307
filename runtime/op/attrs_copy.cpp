#include "runtime/op/attrs_copy.h"

#include <cstring>

#include "runtime/op/table_layout.h"

namespace lazyrt {
namespace {

namespace fbs = flatbuffers;

/// Copies a table: its vtable, its fields, its vectors. Runs twice in the same way: to count the
/// bytes (`to` is null), then to write them.
class TableCopy {
 public:
  TableCopy(const OpAttrs& attrs, uint8_t* to)
      : fields_(fields_of(attrs.kind)),
        from_(*static_cast<const fbs::Table*>(attrs.table)),
        to_(to),
        vtable_bytes_(2 * sizeof(fbs::voffset_t) + fields_.size() * sizeof(fbs::voffset_t)) {}

  void run() {
    begin_table();
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field field = fields_[i];
      if (has(i)) add_field(i, field.is_number() ? field.bytes() : sizeof(fbs::uoffset_t));
    }
    write<fbs::voffset_t>(sizeof(fbs::voffset_t), static_cast<fbs::voffset_t>(end_ - table_));
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field field = fields_[i];
      if (has(i) && !field.is_number()) add_vector(i, field);
    }
  }
  size_t bytes() const { return (end_ + 7) / 8 * 8; }
  const uint8_t* table() const { return to_ + table_; }

 private:
  bool has(size_t field) const { return from_.GetAddressOf(slot_of(field)) != nullptr; }

  template <class T>
  void write(size_t at, T value) {
    if (to_ != nullptr) std::memcpy(to_ + at, &value, sizeof(T));
  }
  void write(size_t at, const void* bytes, size_t count) {
    if (to_ != nullptr && count != 0) std::memcpy(to_ + at, bytes, count);
  }

  void begin_table() {
    table_ = (vtable_bytes_ + 7) / 8 * 8;
    if (to_ != nullptr) std::memset(to_, 0, table_);
    write<fbs::voffset_t>(0, static_cast<fbs::voffset_t>(vtable_bytes_));
    write<fbs::soffset_t>(table_, static_cast<fbs::soffset_t>(table_));
    end_ = table_ + sizeof(fbs::soffset_t);
  }
  void add_field(size_t field, size_t size) {
    end_ = (end_ + size - 1) / size * size;
    write<fbs::voffset_t>(slot_of(field), static_cast<fbs::voffset_t>(end_ - table_));
    write(end_, from_.GetAddressOf(slot_of(field)), size);
    offset_of_[field] = end_;
    end_ += size;
  }
  /// The length directly before elements that are aligned.
  void add_vector(size_t index, Field field) {
    const uint8_t* vector = from_.GetPointer<const uint8_t*>(slot_of(index));
    const auto length = fbs::ReadScalar<fbs::uoffset_t>(vector);
    const size_t data = (end_ + sizeof(length) + 7) / 8 * 8;
    const size_t at = data - sizeof(length);
    const size_t bytes = length * field.bytes() + (field.kind() == Field::Kind::kString ? 1 : 0);
    write(offset_of_[index], static_cast<fbs::uoffset_t>(at - offset_of_[index]));
    write(at, length);
    write(data, vector + sizeof(length), bytes);
    end_ = data + bytes;
  }

  /// No table of ops.fbs has more (attrs_copy_test).
  static constexpr size_t kMostFields = 32;

  const Span<const Field> fields_;
  const fbs::Table& from_;
  uint8_t* const to_;
  const size_t vtable_bytes_;
  size_t table_ = 0;  ///< where it begins
  size_t end_ = 0;
  size_t offset_of_[kMostFields] = {};  ///< per field
};

}  // namespace

size_t attrs_copy_bytes(const OpAttrs& attrs) {
  if (attrs.kind == fb::OpAttrs::NONE) return 0;
  TableCopy counted(attrs, nullptr);
  counted.run();
  return counted.bytes();
}

OpAttrs copy_attrs(const OpAttrs& attrs, uint8_t** next) {
  if (attrs.kind == fb::OpAttrs::NONE) return {};
  TableCopy copy(attrs, *next);
  copy.run();
  *next += copy.bytes();
  return {attrs.kind, copy.table()};
}

}  // namespace lazyrt
