#include "server/core/fair_share.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace conclave::server_impl {
namespace {

std::string network_of(const std::string& address) {
  if (address.starts_with("127.")) return "127.0.0.0/8";
  // The text of a link-local address ends with its interface, like fe80::1%eth0.
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), bytes.data()) != 1)
    return address;
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return std::string{text.data()} + "/64";
}

}  // namespace

peer_id peer_id::of_address(const std::string& address) {
  return {peer_kind::network, network_of(address)};
}

peer_id peer_id::of_user(uid_t user, uid_t server) {
  return {user == 0 || user == server ? peer_kind::owner : peer_kind::user,
          "user " + std::to_string(user)};
}

std::size_t fair_share::usable_by(peer_kind kind) const {
  const auto reserve = total / 16;
  switch (kind) {
    case peer_kind::network: return total - reserve;
    case peer_kind::user: return total - reserve / 2;
    case peer_kind::owner: break;
  }
  return total;
}

bool fair_share::is_within_share(peer_kind kind, std::size_t by_peer) const {
  return kind == peer_kind::owner || per_peer == 0 || by_peer <= per_peer;
}

fair_share::verdict fair_share::check(peer_kind kind, std::size_t by_peer, std::size_t by_all,
                                      std::size_t more) const {
  if (!is_within_share(kind, by_peer + more)) return verdict::peer_full;
  return by_all + more <= usable_by(kind) ? verdict::admitted : verdict::server_full;
}

std::size_t fair_share::default_per_peer(std::size_t total) {
  constexpr std::size_t apache_default = 60;
  return std::max(apache_default, total / 4);
}

}  // namespace conclave::server_impl
