#include "wire/multi.hpp"

namespace conclave::wire {
namespace {

// Sets an empty body for the part's type. Returns false if the type is not allowed in a multi.
bool choose_body(multi_part& part) {
  switch (part.type) {
    case opcode::create:
    case opcode::create2:
    case opcode::create_container: part.body.emplace<create_request>(); return true;
    case opcode::create_ttl: part.body.emplace<create_ttl_request>(); return true;
    case opcode::remove:
    case opcode::check: part.body.emplace<path_version_request>(); return true;
    case opcode::set_data: part.body.emplace<set_data_request>(); return true;
    case opcode::get_data:
    case opcode::get_children: part.body.emplace<path_watch_request>(); return true;
    default: return false;
  }
}

// Reads or writes the fields of a reply of this type. Returns false if the type is unknown.
bool reply_fields(auto& io, auto& a) {
  switch (a.type) {
    case opcode::error: io(a.error); return true;
    case opcode::create: io(a.path); return true;
    // For containers and TTL nodes, some servers reply with create2 and others with the request's
    // own type. The fields are the same.
    case opcode::create_container:
    case opcode::create_ttl:
    case opcode::create2: io(a.path, a.stat); return true;
    case opcode::set_data: io(a.stat); return true;
    case opcode::remove:
    case opcode::check: return true;
    case opcode::get_data: io(a.data, a.stat); return true;
    case opcode::get_children: io(a.names); return true;
    default: return false;
  }
}

// Calls read_part(header) for each part until the end header.
bool read_parts(reader& in, auto read_part) {
  for (std::size_t n = 0;; ++n) {
    const auto header = in.read<multi_header>();
    if (!in.ok()) return false;
    if (header.done) return true;
    if (n == max_multi_parts || !read_part(header) || !in.ok()) return false;
  }
}

}  // namespace

void write_multi_request(writer& out, const std::vector<multi_part>& parts) {
  for (const auto& part : parts) {
    out(multi_header{part.type, false, -1});
    std::visit(out, part.body);
  }
  out(multi_end);
}

bool read_multi_request(reader& in, std::vector<multi_part>& parts) {
  parts.clear();
  return read_parts(in, [&](const multi_header& header) {
    auto& part = parts.emplace_back();
    part.type = header.type;
    if (!choose_body(part)) return false;
    std::visit(in, part.body);
    return true;
  });
}

void write_multi_response(writer& out, const std::vector<multi_reply>& replies) {
  for (const auto& reply : replies) {
    out(multi_header{reply.type, false, reply.type == opcode::error ? reply.error : 0});
    reply_fields(out, reply);
  }
  out(multi_end);
}

bool read_multi_response(reader& in, std::vector<multi_reply>& replies) {
  replies.clear();
  return read_parts(in, [&](const multi_header& header) {
    auto& reply = replies.emplace_back();
    reply.type = header.type;
    return reply_fields(in, reply);
  });
}

}  // namespace conclave::wire
