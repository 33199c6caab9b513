// Prints the metadata and data of a node, as human-readable text or as JSON.
#pragma once

#include <ostream>
#include <string>

#include "cli/show/json.hpp"
#include "conclave/node.hpp"

namespace conclave::cli {

// `ms` is the number of milliseconds since 1970. Returns the time in the local time zone:
// "2024-05-17 09:30:12.345 +0200".
std::string date(std::int64_t ms);
// Returns the same without the fraction and the time zone.
std::string short_date(std::int64_t ms);
// Returns the time in UTC: "2024-05-17T07:30:12.345Z".
std::string iso_date(std::int64_t ms);

// Returns the id in hex, as in ZooKeeper's log messages: 0x10000a2b.
std::string hex(std::int64_t id);

// Prints one line for each field.
void print_stat(std::ostream& out, const node_stat& s);
// Returns all fields under their names in node_stat, except that ctime and mtime are called created
// and changed. The zxids and the owner's session id are also included as text.
json::object stat_json(const node_stat& s);

bool is_utf8(const std::string& data) noexcept;
// Adds the data as the member "data". If the data is not UTF-8, adds it base64-encoded as the
// member "base64" instead.
void add_data(json::object& to, const std::string& data);

}  // namespace conclave::cli
