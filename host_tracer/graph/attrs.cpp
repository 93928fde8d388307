#include "host_tracer/graph/attrs.h"

#include <cstdio>
#include <functional>
#include <string_view>

#include "flatbuffers/minireflect.h"

namespace lazyrt {
namespace {

namespace fbs = flatbuffers;

/// Writes "name=value, name=value". Enum fields are written even when absent (their default).
class TextVisitor : public fbs::IterationVisitor {
 public:
  std::string text;

  void Field(size_t, size_t, fbs::ElementaryType, bool is_vector, const fbs::TypeTable* type,
             const char* name, const uint8_t* value) override {
    const bool is_enum = type != nullptr && type->st == fbs::ST_ENUM && !is_vector;
    if (value == nullptr && !is_enum) return;
    if (!text.empty()) text += ", ";
    text += name;
    text += '=';
    if (value == nullptr) text += type->names[0];
  }
  void UType(uint8_t x, const char* name) override { integer(x, name); }
  void Bool(bool x) override { text += x ? "true" : "false"; }
  void Char(int8_t x, const char* name) override { integer(x, name); }
  void UChar(uint8_t x, const char* name) override { integer(x, name); }
  void Short(int16_t x, const char* name) override { integer(x, name); }
  void UShort(uint16_t x, const char* name) override { integer(x, name); }
  void Int(int32_t x, const char* name) override { integer(x, name); }
  void UInt(uint32_t x, const char* name) override { integer(x, name); }
  void Long(int64_t x) override { text += std::to_string(x); }
  void ULong(uint64_t x) override { text += std::to_string(x); }
  void Float(float x) override { real(static_cast<double>(x)); }
  void Double(double x) override { real(x); }
  void String(const fbs::String* s) override { text += '"' + s->str() + '"'; }
  void StartVector() override { text += '['; }
  void EndVector() override { text += ']'; }
  void Element(size_t i, fbs::ElementaryType, const fbs::TypeTable*, const uint8_t*) override {
    if (i > 0) text += ',';
  }

 private:
  template <class T>
  void integer(T x, const char* name) {
    text += name != nullptr ? std::string(name) : std::to_string(x);
  }
  void real(double x) {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.9g", x);
    text += buffer;
  }
};

}  // namespace

const fbs::TypeTable* attrs_type_table(fb::OpAttrs kind) {
  const fbs::TypeTable* all = fb::OpAttrsTypeTable();
  const int ref = all->type_codes[static_cast<size_t>(kind)].sequence_ref;
  return ref < 0 ? nullptr : all->type_refs[ref]();
}

Attrs::Attrs(const fb::OpAttrsUnion& op) : kind_(op.type) {
  if (kind_ == fb::OpAttrs::NONE) return;
  fbs::FlatBufferBuilder builder;
  builder.Finish(fbs::Offset<fbs::Table>(op.Pack(builder).o));
  const uint8_t* begin = builder.GetBufferPointer();
  bytes_ = std::make_shared<const std::vector<uint8_t>>(begin, begin + builder.GetSize());
}

const char* Attrs::name() const {
  switch (kind_) {
#define LAZYRT_OP(Member, name, folder) \
  case fb::OpAttrs::Member:             \
    return #name;
#include "kernels/ops.inc"
#undef LAZYRT_OP
    case fb::OpAttrs::CustomOp:
      return "custom_op";
    default:
      return "none";
  }
}

OpAttrs Attrs::view() const {
  if (kind_ == fb::OpAttrs::NONE) return {};
  return {kind_, fbs::GetRoot<fbs::Table>(bytes_->data())};
}

fb::OpAttrsUnion Attrs::unpack() const {
  fb::OpAttrsUnion u;
  if (kind_ == fb::OpAttrs::NONE) return u;
  u.type = kind_;
  u.value = fb::OpAttrsUnion::UnPack(view().table, kind_, nullptr);
  return u;
}

std::string Attrs::text() const {
  TextVisitor visitor;
  if (kind_ != fb::OpAttrs::NONE) {
    fbs::IterateObject(static_cast<const uint8_t*>(view().table), attrs_type_table(kind_),
                       &visitor);
  }
  return visitor.text;
}

size_t Attrs::hash() const {
  if (bytes_ == nullptr) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(bytes_->data()), bytes_->size());
  return std::hash<std::string_view>()(bytes) * 31 + static_cast<size_t>(kind_);
}

bool Attrs::operator==(const Attrs& other) const {
  if (kind_ != other.kind_) return false;
  return bytes_ == other.bytes_ || (bytes_ && other.bytes_ && *bytes_ == *other.bytes_);
}

}  // namespace lazyrt
