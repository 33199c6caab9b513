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

std::string string_member(std::string_view text, std::string_view name) {
  json::error_code ec;
  json::parse_options limits;
  limits.max_depth = 4;
  const auto v = json::parse(text, ec, {}, limits);
  if (ec || !v.is_object()) return {};
  const auto* const found = v.as_object().if_contains(name);
  if (found == nullptr || !found->is_string()) return {};
  return {found->as_string().begin(), found->as_string().end()};
}

}  // namespace conclave::web
