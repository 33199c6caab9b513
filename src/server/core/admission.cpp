#include "server/core/admission.hpp"

namespace conclave::server_impl {

admission::verdict admission::check(const peer_id& from) const {
  const auto i = per_peer_.find(from);
  const auto by_peer = i == per_peer_.end() ? 0 : i->second;
  if (!limits_.is_within_share(from.kind, by_peer + 1)) return verdict::peer_full;
  return open_ < limits_.total ? verdict::admitted : verdict::server_full;
}

bool admission::may_begin_session(peer_kind kind, std::size_t established) const {
  const auto for_reconnects = limits_.total / 16;
  return established + for_reconnects < limits_.usable_by(kind);
}

void admission::opened(const peer_id& from) {
  ++open_;
  ++per_peer_[from];
}

void admission::closed(const peer_id& from) {
  --open_;
  const auto i = per_peer_.find(from);
  if (--i->second == 0) per_peer_.erase(i);
}

}  // namespace conclave::server_impl
