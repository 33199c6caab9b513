// Limits the number of open connections, in total and per peer.
//
// Two parts of the total are reserved: one for the Unix socket, the other for sessions that
// reconnect. So one client cannot use all connections.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "server/core/fair_share.hpp"

namespace conclave::server_impl {

class admission {
 public:
  explicit admission(fair_share limits) : limits_{limits} {}

  using verdict = fair_share::verdict;
  // Checks the total limit and the peer's limit for a new connection, but not the reserve: a
  // connection without a completed handshake can be closed to make room for others.
  // may_begin_session() checks the reserve.
  verdict check(const peer_id& from) const;
  void opened(const peer_id& from);
  void closed(const peer_id& from);

  // Returns true if a new session may start while `established` connections have completed their
  // handshake. One sixteenth of all connections is reserved for reconnecting sessions, and part of
  // the remaining connections for the Unix socket.
  bool may_begin_session(peer_kind kind, std::size_t established) const;

  std::size_t peers() const noexcept { return per_peer_.size(); }  // peers with open connections

 private:
  fair_share limits_;
  std::size_t open_ = 0;
  std::unordered_map<peer_id, std::size_t, peer_id_hash> per_peer_;
};

}  // namespace conclave::server_impl
