#include "platforms/posix/lazy_run/json_stream.h"

namespace lazyrt::run {

std::string dump(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void JsonStream::separate() {
  if (!at_begin_) std::fputc(',', out_);
  at_begin_ = false;
}

void JsonStream::begin(char bracket) {
  separate();
  std::fputc(bracket, out_);
  at_begin_ = true;
}

void JsonStream::end(char bracket) {
  std::fputc(bracket, out_);
  at_begin_ = false;
}

void JsonStream::key(const std::string& key) {
  value(key);
  std::fputc(':', out_);
  at_begin_ = true;
}

void JsonStream::value(const Json& value) {
  separate();
  std::fputs(dump(value).c_str(), out_);
}

void JsonStream::members(const Json& object) {
  for (const auto& [name, of] : object.items()) member(name, of);
}

}  // namespace lazyrt::run
