#pragma once

#include "tests/support/bundle_writer.h"

namespace lazyrt::test {

/// The file of a method of these values and guards, of which many may be one table; with 64 bytes
/// of constants, and `room` bytes that no offset leads to, for what they are charged.
inline AlignedBytes file_of_shared_tables(
    flatbuffers::FlatBufferBuilder& b,
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Value>>> values,
    flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Guard>>> guards, size_t room) {
  const auto name = b.CreateString("forward");
  fb::MethodBuilder method(b);
  method.add_name(name);
  method.add_values(values);
  method.add_guards(guards);
  method.add_arena_bytes(64);
  const std::vector<flatbuffers::Offset<fb::Method>> methods = {method.Finish()};
  b.CreateString(std::string(room, 'x'));
  b.Finish(fb::CreateBundleDirect(b, "", &methods), fb::BundleIdentifier());
  BundleParts parts;
  parts.constants.resize(64);
  return write_bundle({b.GetBufferPointer(), b.GetSize()}, parts);
}

}  // namespace lazyrt::test
