#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace lazyrt::run {

using Json = nlohmann::ordered_json;

/// Text in one line, of ASCII alone: no text of a bundle reaches a terminal as it is. What is not
/// UTF-8 is replaced.
std::string dump(const Json& json);

/// Writes JSON to a stream value by value, so that a list of all nodes of a bundle is never in
/// memory as a whole. REQUIRES: what is begun is ended; in an object each value follows its key.
class JsonStream {
 public:
  /// `out` must outlive this; its owner checks it for errors.
  explicit JsonStream(std::FILE* out) : out_(out) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_list() { begin('['); }
  void end_list() { end(']'); }
  void key(const std::string& key);
  void value(const Json& value);
  void member(const std::string& name, const Json& of) {
    key(name);
    value(of);
  }
  /// All members of an object.
  void members(const Json& object);

 private:
  void begin(char bracket);
  void end(char bracket);
  /// A comma, where one belongs.
  void separate();

  std::FILE* out_;
  bool at_begin_ = true;  ///< right after a bracket or key
};

}  // namespace lazyrt::run
