// Counts how much of the core's resources each peer uses.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "server/core/fair_share.hpp"

namespace conclave::server_impl {

struct peer_usage {
  peer_id id;
  std::size_t connections = 0;
  std::size_t sessions = 0;
  std::size_t watches = 0;        // of its connections
  std::size_t watched_bytes = 0;  // of the watched paths
};

// The peers that have a connection or a session. A reference to a peer stays valid while the peer
// has a connection or a session.
class peer_table {
 public:
  peer_usage& connected(const peer_id& id) {
    auto& peer = peers_[id];
    peer.id = id;
    ++peer.connections;
    return peer;
  }
  void disconnected(peer_usage& peer) {
    --peer.connections;
    erase_if_unused(peer);
  }
  void session_began(peer_usage& peer) { ++peer.sessions; }
  void session_ended(peer_usage& peer) {
    --peer.sessions;
    erase_if_unused(peer);
  }

  std::size_t size() const noexcept { return peers_.size(); }

 private:
  void erase_if_unused(const peer_usage& peer) {
    if (peer.connections == 0 && peer.sessions == 0) peers_.erase(peers_.find(peer.id));
  }

  std::unordered_map<peer_id, peer_usage, peer_id_hash> peers_;
};

}  // namespace conclave::server_impl
