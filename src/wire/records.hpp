// All records of the client protocol, except those of transactions (multi.hpp). The order of the
// fields is the order on the wire.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "conclave/node.hpp"
#include "wire/archive.hpp"
#include "wire/opcodes.hpp"

namespace conclave::wire {

// --- handshake

// In ZooKeeper, the protocol version is 0 in both directions. On a Unix socket, Conclave's client
// and server send process_binding() in this field. If both values are equal, the server keeps the
// session while this connection is open, regardless of the timeout. Other clients and servers
// ignore the field.

struct connect_request {
  std::int32_t protocol_version = 0;
  std::int64_t last_zxid_seen = 0;
  std::int32_t timeout_ms = 0;
  std::int64_t session_id = 0;
  std::string_view password;
  static void fields(auto& io, auto& r) {
    io(r.protocol_version, r.last_zxid_seen, r.timeout_ms, r.session_id, r.password);
  }
};

struct connect_response {
  std::int32_t protocol_version = 0;
  std::int32_t timeout_ms = 0;
  std::int64_t session_id = 0;
  std::string_view password;
  static void fields(auto& io, auto& r) {
    io(r.protocol_version, r.timeout_ms, r.session_id, r.password);
  }
};

// The last byte of the handshake. Old clients and servers omit it.
struct read_only_flag {
  bool read_only = false;
  static void fields(auto& io, auto& r) { io(r.read_only); }
};

// --- headers

struct request_header {
  std::int32_t xid = 0;
  opcode type{};
  static void fields(auto& io, auto& r) { io(r.xid, r.type); }
};

struct reply_header {
  std::int32_t xid = 0;
  std::int64_t zxid = 0;
  std::int32_t error = 0;
  static void fields(auto& io, auto& r) { io(r.xid, r.zxid, r.error); }
};

struct watcher_event {
  std::int32_t type = 0;
  std::int32_t state = 0;
  std::string_view path;
  static void fields(auto& io, auto& r) { io(r.type, r.state, r.path); }
};

// --- parts

struct stat_record {
  node_stat value;
  static void fields(auto& io, auto& r) {
    auto& s = r.value;
    io(s.czxid, s.mzxid, s.ctime, s.mtime, s.version, s.cversion, s.aversion, s.ephemeral_owner,
       s.data_length, s.num_children, s.pzxid);
  }
};

struct acl_record {
  std::int32_t permissions = 0;
  std::string_view scheme;
  std::string_view id;
  static void fields(auto& io, auto& r) { io(r.permissions, r.scheme, r.id); }
};

struct identity_record {
  std::string_view scheme;
  std::string_view id;
  static void fields(auto& io, auto& r) { io(r.scheme, r.id); }
};

// --- requests

// create, create2, create_container
struct create_request {
  std::string_view path;
  std::string_view data;
  std::vector<acl_record> acl;
  std::int32_t flags = 0;
  static void fields(auto& io, auto& r) { io(r.path, r.data, r.acl, r.flags); }
};

struct create_ttl_request {
  std::string_view path;
  std::string_view data;
  std::vector<acl_record> acl;
  std::int32_t flags = 0;
  std::int64_t ttl_ms = 0;
  static void fields(auto& io, auto& r) { io(r.path, r.data, r.acl, r.flags, r.ttl_ms); }
};

// remove, check
struct path_version_request {
  std::string_view path;
  std::int32_t version = 0;
  static void fields(auto& io, auto& r) { io(r.path, r.version); }
};

// exists, get_data, get_children, get_children2
struct path_watch_request {
  std::string_view path;
  bool watch = false;
  static void fields(auto& io, auto& r) { io(r.path, r.watch); }
};

struct set_data_request {
  std::string_view path;
  std::string_view data;
  std::int32_t version = 0;
  static void fields(auto& io, auto& r) { io(r.path, r.data, r.version); }
};

// get_acl, sync, get_ephemerals, get_all_children_number, delete_container; and sync's response
struct path_record {
  std::string_view path;
  static void fields(auto& io, auto& r) { io(r.path); }
};

struct set_acl_request {
  std::string_view path;
  std::vector<acl_record> acl;
  std::int32_t version = 0;
  static void fields(auto& io, auto& r) { io(r.path, r.acl, r.version); }
};

struct auth_request {
  std::int32_t type = 0;
  std::string_view scheme;
  std::string_view auth;
  static void fields(auto& io, auto& r) { io(r.type, r.scheme, r.auth); }
};

// The request of check_watches, remove_watches and add_watch. In the first two, `type` is 1 for
// child watches, 2 for data watches and 3 for any watch. In add_watch, it is the mode: 0 for a
// persistent watch and 1 for a recursive one.
struct path_type_request {
  std::string_view path;
  std::int32_t type = 0;
  static void fields(auto& io, auto& r) { io(r.path, r.type); }
};

struct set_watches_request {
  std::int64_t relative_zxid = 0;
  std::vector<std::string_view> data;
  std::vector<std::string_view> exist;
  std::vector<std::string_view> child;
  static void fields(auto& io, auto& r) { io(r.relative_zxid, r.data, r.exist, r.child); }
};

struct set_watches2_request {
  std::int64_t relative_zxid = 0;
  std::vector<std::string_view> data;
  std::vector<std::string_view> exist;
  std::vector<std::string_view> child;
  std::vector<std::string_view> persistent;
  std::vector<std::string_view> recursive;
  static void fields(auto& io, auto& r) {
    io(r.relative_zxid, r.data, r.exist, r.child, r.persistent, r.recursive);
  }
};

struct sasl_record {  // request and response
  std::string_view token;
  static void fields(auto& io, auto& r) { io(r.token); }
};

// --- responses

struct create_response {
  std::string_view path;
  static void fields(auto& io, auto& r) { io(r.path); }
};

struct create2_response {
  std::string_view path;
  stat_record stat;
  static void fields(auto& io, auto& r) { io(r.path, r.stat); }
};

// exists, set_data, set_acl
struct stat_response {
  stat_record stat;
  static void fields(auto& io, auto& r) { io(r.stat); }
};

struct get_data_response {
  std::string_view data;
  stat_record stat;
  static void fields(auto& io, auto& r) { io(r.data, r.stat); }
};

struct get_acl_response {
  std::vector<acl_record> acl;
  stat_record stat;
  static void fields(auto& io, auto& r) { io(r.acl, r.stat); }
};

// get_children, get_ephemerals
struct names_response {
  std::vector<std::string_view> names;
  static void fields(auto& io, auto& r) { io(r.names); }
};

struct get_children2_response {
  std::vector<std::string_view> names;
  stat_record stat;
  static void fields(auto& io, auto& r) { io(r.names, r.stat); }
};

struct get_all_children_number_response {
  std::int32_t total = 0;
  static void fields(auto& io, auto& r) { io(r.total); }
};

struct who_am_i_response {
  std::vector<identity_record> identities;
  static void fields(auto& io, auto& r) { io(r.identities); }
};

}  // namespace conclave::wire
