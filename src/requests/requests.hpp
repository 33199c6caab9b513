// Every operation of the protocol: what is sent, how its answer is read, and what becomes of it
// when the connection ends before the answer.
//
// Nothing here sends anything: a request becomes an operation of a session, by `client` for its
// users and by `recipes` for themselves.
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

// What a client adds to every request.
struct defaults {
  std::string chroot;  // in front of every path
  conclave::acl acl;   // of nodes created without one
  // Of nodes that a recipe creates above its own path. Other users have their locks and queues
  // below them, too.
  conclave::acl ancestors_acl = open_acl();
};

using nothing = std::monostate;

template <class Result>
struct request {
  using reader = bool (*)(const defaults&, const wire::reply_header&, wire::reader&, Result&);

  error_code refused;  // no server would take it; the rest is then empty
  wire::opcode type{};
  session::on_cut rule{};
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

// What the answer's code means for the caller, once it was read: a missing node is an answer to
// exists, a watch that the server has not got is as removed as can be (its event was under way),
// and a transaction has its errors in its parts.
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
