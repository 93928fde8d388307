#include "host_tracer/graph/attrs.h"

#include <functional>
#include <string_view>

#include "host_tracer/graph/attr_fields.h"

namespace lazyrt {

namespace fbs = flatbuffers;

const fbs::TypeTable* attrs_type_table(fb::OpAttrs kind) {
  if (kind > fb::OpAttrs::MAX) return nullptr;
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
  std::string text;
  for (const AttrField& field : attr_fields(*this)) {
    if (field.given) text += (text.empty() ? "" : ", ") + field.name + "=" + field.text();
  }
  return text;
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
