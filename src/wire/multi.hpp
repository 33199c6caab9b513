// Transactions (multi) and groups of reads (multi_read). Such a message is a list of parts. Each
// part begins with a small header, and a special header ends the list.
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

// One part of a request. `type` determines the type of `body`. In a transaction, `type` is create,
// create2, create_container, create_ttl, remove, set_data or check. In a group of reads, it is
// get_data or get_children.
struct multi_part {
  opcode type{};
  std::variant<create_request, create_ttl_request, path_version_request, set_data_request,
               path_watch_request>
      body;
};

// One part of a reply. The comments name the part types that set each member.
struct multi_reply {
  opcode type = opcode::error;
  std::int32_t error = 0;               // for opcode::error
  std::string_view path;                // create, create2
  std::string_view data;                // get_data
  std::vector<std::string_view> names;  // get_children
  stat_record stat;                     // create2, set_data, get_data
};

// The maximum number of parts in one message.
inline constexpr std::size_t max_multi_parts = 65'536;

void write_multi_request(writer& out, const std::vector<multi_part>& parts);
// Returns false if the message is malformed, has too many parts, or has a part of unknown type.
bool read_multi_request(reader& in, std::vector<multi_part>& parts);

void write_multi_response(writer& out, const std::vector<multi_reply>& replies);
bool read_multi_response(reader& in, std::vector<multi_reply>& replies);

}  // namespace conclave::wire
