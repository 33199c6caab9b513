#include "cli/show/json.hpp"

#include <iostream>

#include <boost/json/serialize.hpp>

#include "cli/show/node.hpp"

namespace conclave::cli {

void print(const json::value& v) { std::cout << json::serialize(v) << std::endl; }

void add_number(json::object& to, std::string_view name, std::int64_t value) {
  to[name] = value;
  to[std::string{name} + "_text"] = std::to_string(value);
}

void add_session(json::object& to, std::int64_t id) {
  to["session_id"] = id;
  to["session_id_text"] = hex(id);
}

void add_time(json::object& to, std::string_view name, std::int64_t ms) {
  to[name] = iso_date(ms);
  to[std::string{name} + "_ms"] = ms;
}

void add_time(json::object& to, std::string_view name, std::chrono::system_clock::time_point t) {
  using std::chrono::milliseconds;
  add_time(to, name, std::chrono::duration_cast<milliseconds>(t.time_since_epoch()).count());
}

}  // namespace conclave::cli
