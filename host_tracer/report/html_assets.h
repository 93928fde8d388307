#pragma once

namespace lazyrt {

/// The style sheet of the report, light and dark.
extern const char kReportStyle[];
/// Draws the node table page by page from the JSON of #node-data.
extern const char kReportScript[];

}  // namespace lazyrt
