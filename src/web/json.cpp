#include "web/json.hpp"

#include <cinttypes>
#include <cstdio>

#include <boost/json/src.hpp>  // header-only Boost.JSON, compiled here only

namespace conclave::web {

std::string to_text(const json::value& v) { return json::serialize(v); }

std::string session_text(std::int64_t id) {
  char text[20];
  std::snprintf(text, sizeof text, "0x%" PRIx64, static_cast<std::uint64_t>(id));
  return text;
}

}  // namespace conclave::web
