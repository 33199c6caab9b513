// Functions that encode requests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/node.hpp"
#include "server/core/rows.hpp"
#include "wire/multi.hpp"

namespace conclave::server_impl {

struct request {
  wire::opcode type{};
  std::string body;
  std::int32_t xid = 0;  // 0: use the next xid of the connection
};

// The flags of a create.
namespace mode {
inline constexpr std::int32_t persistent = 0;
inline constexpr std::int32_t ephemeral = 1;
inline constexpr std::int32_t sequential = 2;
inline constexpr std::int32_t ephemeral_sequential = 3;
inline constexpr std::int32_t container = 4;
inline constexpr std::int32_t ttl = 5;
inline constexpr std::int32_t sequential_ttl = 6;
}  // namespace mode

inline constexpr std::int32_t all_permissions = 31;
const acl& open_to_all();
acl world(std::int32_t permissions);

using paths = std::vector<std::string>;

template <class... Fields>
request make_request(wire::opcode type, const Fields&... fields) {
  request r{type, {}};
  wire::writer{r.body}(fields...);
  return r;
}

request create(std::string_view path, std::string_view data = "",
               std::int32_t flags = mode::persistent, const acl& access = open_to_all(),
               wire::opcode type = wire::opcode::create);
request create2(std::string_view path, std::string_view data = "",
                std::int32_t flags = mode::persistent, const acl& access = open_to_all());
request create_ephemeral(std::string_view path);
request create_sequential(std::string_view path);
request create_container(std::string_view path);
request create_ttl(std::string_view path, std::int64_t ttl_ms, std::int32_t flags = mode::ttl);
request create_with(std::string_view path, const acl& access);
request remove(std::string_view path, std::int32_t version = any_version);
request set(std::string_view path, std::string_view data, std::int32_t version = any_version);
request set_acl(std::string_view path, const acl& access, std::int32_t version = any_version);
request check(std::string_view path, std::int32_t version = any_version);
request multi(const std::vector<request>& parts);

inline constexpr bool watched = true;
request exists(std::string_view path, bool watch = false);
request get(std::string_view path, bool watch = false);
request children(std::string_view path, bool watch = false);
request children2(std::string_view path, bool watch = false);
request get_acl(std::string_view path);
request get_ephemerals(std::string_view prefix = "/");
request get_all_children_number(std::string_view path);
request multi_read(const std::vector<request>& parts);
request sync(std::string_view path);
request ping();
request who_am_i();

namespace watch_type {
inline constexpr std::int32_t children = 1;
inline constexpr std::int32_t data = 2;
inline constexpr std::int32_t any = 3;
}  // namespace watch_type
request add_persistent_watch(std::string_view path);
request add_recursive_watch(std::string_view path);
request check_watches(std::string_view path, std::int32_t type = watch_type::any);
request remove_watches(std::string_view path, std::int32_t type = watch_type::any);
request set_watches(std::int64_t seen_zxid, const paths& data, const paths& exist,
                    const paths& child);
request set_watches2(std::int64_t seen_zxid, const paths& data, const paths& exist,
                     const paths& child, const paths& persistent, const paths& recursive);

request auth(std::string_view scheme, std::string_view credentials);
request close_session();

}  // namespace conclave::server_impl
