// The steps that are performed on both servers. They are generated before any reply is known, so
// they refer to versions, generated names, zxids and sessions by role. The references are resolved
// when the step is performed. So steps can be removed from a sequence.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/opcodes.hpp"

namespace conclave::differential {

using text = std::optional<std::string>;  // nullopt: a null string

struct acl_entry {
  std::int32_t permissions = 31;
  text scheme = "world";
  text id = "anyone";
};

struct path_ref {
  enum class kind {
    name,   // a literal path
    known,  // below one of the nodes known to exist
    made,   // below the path of one of the last sequential creations
  };
  text name = "/";
  kind how = kind::name;
  std::size_t number = 0;  // the index, modulo the number of candidates
};

struct version_ref {
  enum class kind { number, right, wrong };
  kind how = kind::number;
  std::int32_t number = -1;
};

struct zxid_ref {
  enum class kind {
    number,
    change,
    seen_before,  // the last one on the previous connection, as in a reconnect
  };
  kind how = kind::number;
  std::int64_t number = 0;  // or the index of the change
};

// The lists of setWatches and setWatches2, in their order on the wire.
enum watch_list : std::size_t {
  data_list,
  exist_list,
  child_list,
  persistent_list,
  recursive_list
};

struct operation {
  wire::opcode type{};
  std::int32_t xid = 0;  // 0: the next xid of the connection
  path_ref path;
  text data = "";  // also the credentials of auth and the token of sasl
  text scheme;     // of authentication
  std::vector<acl_entry> acl;
  std::int32_t flags = 0;
  std::int64_t ttl_ms = 0;
  version_ref version;
  bool watch = false;
  std::int32_t number = 0;  // the mode of addWatch, the type of removeWatches and checkWatches
  zxid_ref since;
  std::array<std::vector<path_ref>, 5> lists;
  std::vector<operation> parts;               // of multi and multiRead
  std::optional<std::uint32_t> truncated_to;  // truncates the body to this size, modulo its size
  bool with_rest = false;                     // appends extra bytes
};

enum class action {
  send,                // the operations, in one write
  disconnect,          // the session stays
  reconnect,           // on a new connection
  use_wrong_password,  // reconnect with a wrong password
  use_future_zxid,     // reconnect with a last zxid that is too high
  take_over,           // a second connection takes over the session
  bad_length,          // a frame with an invalid length
  expire,              // another session creates ephemeral nodes and expires
  await_removal,  // send the first operation, then wait until the paths of the others are removed
  restart,        // kill and restart both servers
};

struct step {
  action what = action::send;
  std::size_t slot = 0;  // the session
  std::vector<operation> operations;
  std::int32_t number = 0;  // a session timeout, or the length of a bad frame
  bool old_client = false;  // connects without the read-only byte
};

bool is_change(wire::opcode type);
bool is_creation(wire::opcode type);
bool is_sequential(const operation& o);
// Returns whether the server closes the connection after this request.
bool ends_connection(const operation& o);

const char* name_of(wire::opcode type);
const char* name_of(action what);
const char* name_of_error(std::int32_t error);
std::string quoted(const text& t);
std::string describe(const operation& o);
std::string describe(const step& s);

// Returns the body of a request. All references except zxids must be resolved.
std::string encode(const operation& o, const std::function<std::int64_t(zxid_ref)>& zxid_of);

}  // namespace conclave::differential
