// Transactions (multi) and groups of reads (multi_read): a list of parts, each with a small header
// of its own, ended by a header that says so.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "wire/records.hpp"

namespace conclave::wire {

struct multi_header {
  opcode type = opcode::error;
  bool done = false;
  std::int32_t error = -1;
  static void fields(auto& io, auto& r) { io(r.type, r.done, r.error); }
};

inline constexpr multi_header multi_end{opcode::error, true, -1};

// One part of a request. `type` says how `body` is to be read: create, create2, create_container,
// create_ttl, remove, set_data, check; in a group of reads get_data and get_children.
struct multi_part {
  opcode type{};
  std::variant<create_request, create_ttl_request, path_version_request, set_data_request,
               path_watch_request>
      body;
};

// One part of an answer.
struct multi_answer {
  opcode type = opcode::error;
  std::int32_t error = 0;               // for opcode::error
  std::string_view path;                // create, create2
  std::string_view data;                // get_data
  std::vector<std::string_view> names;  // get_children
  stat_record stat;                     // create2, set_data, get_data
};

// The most parts that are read from one message.
inline constexpr std::size_t max_multi_parts = 65'536;

void write_multi_request(writer& out, const std::vector<multi_part>& parts);
// False if the message is malformed, has too many parts, or one of an unknown type.
bool read_multi_request(reader& in, std::vector<multi_part>& parts);

void write_multi_response(writer& out, const std::vector<multi_answer>& answers);
bool read_multi_response(reader& in, std::vector<multi_answer>& answers);

}  // namespace conclave::wire
