// Fair shares of the resources that the server limits: connections, sessions and watches.
//
// A peer is a network or a user of the Unix socket. Each peer has a share of each resource. The
// clients of a peer use its share together, so they cannot use up the resources of other peers. On
// the Unix socket, the kernel identifies the users, so a reserve is kept for them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace conclave::server_impl {

enum class peer_kind : std::uint8_t {
  network,  // of a TCP address
  user,     // of the Unix socket
  owner,    // root and the server's own user on the Unix socket; only the totals limit them
};

struct peer_id {
  peer_kind kind = peer_kind::network;
  std::string name;

  // Returns the peer to which this TCP address belongs. It is 127.0.0.0/8 for an IPv4 loopback
  // address, the /64 network for an IPv6 address, and otherwise the address itself.
  static peer_id of_address(const std::string& address);
  // Returns the peer to which a client on the Unix socket belongs. `user` is the user id of the
  // client, and `server` is that of the server.
  static peer_id of_user(uid_t user, uid_t server);

  friend bool operator==(const peer_id&, const peer_id&) = default;
};

struct peer_id_hash {
  std::size_t operator()(const peer_id& id) const { return std::hash<std::string>{}(id.name); }
};

// The limits of one resource.
struct fair_share {
  std::size_t total = 0;
  std::size_t per_peer = 0;  // does not apply to the owner; 0 means no limit

  enum class verdict { admitted, peer_full, server_full };
  // Checks whether a peer may use `more` additional units of the resource. The peer already uses
  // `by_peer` units, and all peers together use `by_all`.
  verdict check(peer_kind kind, std::size_t by_peer, std::size_t by_all, std::size_t more) const;
  // Checks only the peer's limit.
  bool is_within_share(peer_kind kind, std::size_t by_peer) const;
  // Returns the part of the total that this kind of peer can use. One sixteenth of the total is
  // reserved. Networks can use none of the reserve, users can use half of it, and the owner can use
  // all of it.
  std::size_t usable_by(peer_kind kind) const;

  // Returns a quarter of the total, but at least the number of connections that Apache's server
  // allows for one address by default.
  static std::size_t default_per_peer(std::size_t total);
};

}  // namespace conclave::server_impl
