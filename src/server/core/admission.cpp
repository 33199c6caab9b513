#include "server/core/admission.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace conclave::server_impl {

std::size_t admission::default_per_address(std::size_t connections) {
  constexpr std::size_t apache_default = 60;
  return std::max(apache_default, connections / 4);
}

std::string admission::network_of(const std::string& address) {
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

admission::verdict admission::check(const std::string& address) const {
  if (!address.empty() && limits_.per_address != 0) {
    const auto i = per_address_.find(network_of(address));
    if (i != per_address_.end() && i->second >= limits_.per_address) return verdict::address_full;
  }
  return open_ < limits_.connections ? verdict::admitted : verdict::server_full;
}

void admission::opened(const std::string& address) {
  ++open_;
  if (!address.empty()) ++per_address_[network_of(address)];
}

void admission::closed(const std::string& address) {
  --open_;
  if (address.empty()) return;
  const auto i = per_address_.find(network_of(address));
  if (--i->second == 0) per_address_.erase(i);
}

}  // namespace conclave::server_impl
