// Output of --json: one value on one line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace conclave::cli {

namespace json = boost::json;

void print(const json::value& v);

// These functions give all commands the same JSON form.
//
// Adds a fencing token or zxid in two forms: NAME is a number, and NAME_text is a string, for
// readers that round numbers above 2^53.
void add_number(json::object& to, std::string_view name, std::int64_t value);
// Adds session_id, a number, and session_id_text, a hexadecimal string as in ZooKeeper's log
// messages: "0x10000a2b".
void add_session(json::object& to, std::int64_t id);
// Adds NAME, the time in UTC ("2024-05-17T07:30:12.345Z"), and NAME_ms, the milliseconds since
// 1970.
void add_time(json::object& to, std::string_view name, std::int64_t ms);
void add_time(json::object& to, std::string_view name, std::chrono::system_clock::time_point t);

}  // namespace conclave::cli
