#pragma once

// Small pieces of HTML.

#include <cstdint>
#include <string>

#include "host_tracer/trace/trace.h"

namespace lazyrt {

/// Text that is safe between tags and inside of double quotes.
std::string html_escape(const std::string& text);
/// printf of one number.
std::string number_text(double value, const char* format);
/// "1.23 G", "45.6 M", "7.8 k", "12"; empty for 0.
std::string count_text(uint64_t count);
/// 100 * part / whole; 0 where whole is 0.
double percent(uint64_t part, uint64_t whole);
/// The last part of a path.
std::string file_name(const std::string& path);
/// `<code title="/home/model.py:12">model.py:12</code> in <code>encoder.0</code>`; may be empty.
std::string source_html(const Source& source);
/// A bar of this width in percent.
std::string bar_html(double width);

}  // namespace lazyrt
