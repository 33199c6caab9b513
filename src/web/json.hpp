// The JSON that the page receives.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace conclave::web {

namespace json = boost::json;

std::string to_text(const json::value& v);
// Returns the session id as in ZooKeeper's log messages: 0x10000a2b.
std::string session_text(std::int64_t id);

// Returns a member of the object in `text`, or an empty string if the text is not such an object or
// the member is not a string.
std::string string_member(std::string_view text, std::string_view name);

}  // namespace conclave::web
