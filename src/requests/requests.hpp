// All operations of the protocol: their frames, the parsing of their replies, and the rule for a
// lost connection.
//
// Nothing is sent here. The client and the recipes turn a request into an operation of a session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conclave/acl.hpp"
#include "conclave/node.hpp"
#include "conclave/transaction.hpp"
#include "conclave/watch.hpp"
#include "session/operation.hpp"

namespace conclave::requests {

// Settings of a client that apply to every request.
struct defaults {
  std::string chroot;  // prepended to every path
  conclave::acl acl;   // for nodes created without an ACL
  // The ACL of nodes that a recipe creates above its own path. Locks and queues of other users may
  // be below these nodes.
  conclave::acl ancestors_acl = open_acl();
};

using nothing = std::monostate;

template <class Result>
struct request {
  using reader = bool (*)(const defaults&, const wire::reply_header&, wire::reader&, Result&);

  error_code refused;  // set if the arguments are not valid; all other members are then empty
  wire::opcode type{};
  session::on_disconnect rule{};
  std::string frame{};
  std::optional<session::operation::wanted_watch> watch{};
  reader read = nullptr;
};

request<create_result> create(const defaults&, std::string_view path, std::string_view data,
                              const create_options&);
request<nothing> remove(const defaults&, std::string_view path, std::int32_t version);
request<std::optional<node_stat>> exists(const defaults&, std::string_view path, const watcher&);
request<get_result> get(const defaults&, std::string_view path, const watcher&);
request<node_stat> set(const defaults&, std::string_view path, std::string_view data,
                       std::int32_t version);
request<children_result> children(const defaults&, std::string_view path, const watcher&);
request<nothing> sync(const defaults&, std::string_view path);
request<acl_result> get_acl(const defaults&, std::string_view path);
request<node_stat> set_acl(const defaults&, std::string_view path, const acl&,
                           std::int32_t version);
request<std::vector<std::string>> ephemerals(const defaults&, std::string_view prefix);
request<std::int32_t> count_descendants(const defaults&, std::string_view path);
request<transaction_result> commit(const defaults&, const transaction&);
request<std::vector<read_result>> read(const defaults&, const read_group&);
request<nothing> add_watch(const defaults&, std::string_view path, watch_mode, const watcher&);
request<nothing> remove_watch(const defaults&, std::string_view path, watch_kind);
request<nothing> add_auth(const credentials&);
request<std::vector<identity>> who_am_i();

// Converts the error code of a reply for the caller. A missing node is a valid result of exists. If
// a watch that must be removed no longer exists on the server, the watch has fired and its event is
// on the way. The removal then counts as successful. The error of a failed transaction is the error
// of its failed part.
template <class Result>
error_code verdict(wire::opcode type, error_code answered, const Result& result) noexcept {
  if constexpr (std::is_same_v<Result, transaction_result>) {
    if (const auto failed = result.failed_part()) return result.parts[*failed].ec;
  }
  const bool fine = (type == wire::opcode::exists && answered == errc::no_node) ||
                    (type == wire::opcode::remove_watches && answered == errc::no_watcher);
  return fine ? error_code{} : answered;
}

}  // namespace conclave::requests
