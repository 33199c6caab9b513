// Request codes of ZooKeeper's protocol, and the xids of messages that are not replies to a
// request.
#pragma once

#include <cstdint>

namespace conclave::wire {

enum class opcode : std::int32_t {
  create = 1,
  remove = 2,
  exists = 3,
  get_data = 4,
  set_data = 5,
  get_acl = 6,
  set_acl = 7,
  get_children = 8,
  sync = 9,
  ping = 11,
  get_children2 = 12,
  check = 13,
  multi = 14,
  create2 = 15,
  check_watches = 17,
  remove_watches = 18,
  create_container = 19,
  delete_container = 20,
  create_ttl = 21,
  multi_read = 22,
  auth = 100,
  set_watches = 101,
  sasl = 102,
  get_ephemerals = 103,
  get_all_children_number = 104,
  set_watches2 = 105,
  add_watch = 106,
  who_am_i = 107,
  create_session = -10,
  close_session = -11,
  error = -1,  // in results of a transaction: the part failed or was not executed
};

// Negative xids are reserved.
namespace special_xid {
inline constexpr std::int32_t watch_event = -1;
inline constexpr std::int32_t ping = -2;
inline constexpr std::int32_t auth = -4;
inline constexpr std::int32_t set_watches = -8;
}  // namespace special_xid

}  // namespace conclave::wire
