// The JSON that the page receives.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace conclave::web {

namespace json = boost::json;

std::string to_text(const json::value& v);
// Returns the session id as in ZooKeeper's log messages: 0x10000a2b.
std::string session_text(std::int64_t id);

}  // namespace conclave::web
