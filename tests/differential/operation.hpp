// What is done to both servers, before anything is known of their answers: versions, generated
// names, zxids and sessions are named by their role and looked up when it is their turn. So a
// sequence stays meaningful when steps are left out of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/opcodes.hpp"

namespace conclave::differential {

using text = std::optional<std::string>;  // nothing: a null string

struct acl_entry {
  std::int32_t permissions = 31;
  text scheme = "world";
  text id = "anyone";
};

struct path_ref {
  enum class kind {
    name,   // as it is
    known,  // behind one of the nodes that are there, as far as is known
    made,   // behind the path that one of the last sequential creations was given
  };
  text name = "/";
  kind how = kind::name;
  std::size_t number = 0;  // which of them, modulo how many there are
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
    seen_before,  // the last one on the connection before, as clients ask that come back
  };
  kind how = kind::number;
  std::int64_t number = 0;  // of a change: which one, counted from the first
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
  std::int32_t xid = 0;  // zero: the connection's next
  path_ref path;
  text data = "";  // also what is shown to authenticate, and the token of sasl
  text scheme;     // of authentication
  std::vector<acl_entry> acl;
  std::int32_t flags = 0;
  std::int64_t ttl_ms = 0;
  version_ref version;
  bool watch = false;
  std::int32_t number = 0;  // the mode of addWatch, the type of removeWatches and checkWatches
  zxid_ref since;
  std::array<std::vector<path_ref>, 5> lists;
  std::vector<operation> parts;      // of multi and multiRead
  std::optional<std::uint32_t> cut;  // the body ends there, modulo its size
  bool with_rest = false;            // bytes follow that nobody asked for
};

enum class action {
  send,             // the operations, in one go
  hang_up,          // the session stays
  come_back,        // on a new connection
  use_wrong_word,   // come back with another password
  know_the_future,  // come back having seen a zxid that is still to come
  take_over,        // a second connection takes the session from the first
  bad_length,       // a frame whose length cannot be
  expire,           // another session makes ephemeral nodes and is not heard of again
  await_removal,    // send the first operation, and wait until the others' paths are gone
  restart,          // both servers are killed and started again
};

struct step {
  action what = action::send;
  std::size_t slot = 0;  // which of the sessions
  std::vector<operation> operations;
  std::int32_t number = 0;  // a session timeout, or the length of a bad frame
  bool old_client = false;  // greets without the read-only byte
};

bool is_change(wire::opcode type);
bool is_creation(wire::opcode type);
bool is_sequential(const operation& o);
// The server ends the connection after such a request.
bool ends_connection(const operation& o);

const char* name_of(wire::opcode type);
const char* name_of(action what);
const char* name_of_error(std::int32_t error);
std::string quoted(const text& t);
std::string describe(const operation& o);
std::string describe(const step& s);

// The body of a request whose references are resolved, but for the zxid.
std::string encode(const operation& o, const std::function<std::int64_t(zxid_ref)>& zxid_of);

}  // namespace conclave::differential
