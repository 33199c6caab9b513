#include "server/core/access.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include <openssl/evp.h>

namespace conclave::server_impl {
namespace {

// An address or a network in the form 10.0.0.0/8 or fd00::/8.
struct network {
  int family = AF_UNSPEC;
  std::array<unsigned char, 16> bytes{};
  int bits = 0;
};

std::optional<network> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  const std::string address{text.substr(0, slash)};
  network n;
  int width = 0;
  if (::inet_pton(AF_INET, address.c_str(), n.bytes.data()) == 1) {
    n.family = AF_INET;
    width = 32;
  } else if (::inet_pton(AF_INET6, address.c_str(), n.bytes.data()) == 1) {
    n.family = AF_INET6;
    width = 128;
  } else {
    return std::nullopt;
  }
  n.bits = width;
  if (slash != std::string_view::npos) {
    const auto bits = text.substr(slash + 1);
    const auto [end, ec] = std::from_chars(bits.data(), bits.data() + bits.size(), n.bits);
    if (ec != std::errc{} || end != bits.data() + bits.size() || n.bits < 0 || n.bits > width)
      return std::nullopt;
  }
  return n;
}

bool in_network(std::string_view address, std::string_view expression) {
  const auto a = parse_network(address);
  const auto n = parse_network(expression);
  if (!a || !n || a->family != n->family) return false;
  const auto whole = static_cast<std::size_t>(n->bits / 8);
  if (std::memcmp(a->bytes.data(), n->bytes.data(), whole) != 0) return false;
  const int rest = n->bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<unsigned char>(0xff << (8 - rest));
  return (a->bytes[whole] & mask) == (n->bytes[whole] & mask);
}

bool matches(const acl_entry& entry, const identity& who) {
  if (entry.scheme != who.scheme) return false;
  if (entry.scheme == "digest") return entry.id == who.id;
  if (entry.scheme == "ip") return in_network(who.id, entry.id);
  return false;
}

bool valid_id(std::string_view scheme, std::string_view id) {
  if (scheme == "world") return id == "anyone";
  if (scheme == "ip") return parse_network(id).has_value();
  if (scheme == "digest") {  // two parts; like Apache's server, ignores trailing colons
    id = id.substr(0, id.find_last_not_of(':') + 1);
    return std::count(id.begin(), id.end(), ':') == 1;
  }
  return false;
}

}  // namespace

bool allowed(const acl& access, std::int32_t permissions, const identities& who) {
  for (const auto& entry : access) {
    if ((entry.permissions & permissions) == 0) continue;
    if (entry.scheme == "world" && entry.id == "anyone") return true;
    for (const auto& i : who)
      if (matches(entry, i)) return true;
  }
  return access.empty() ||
         std::any_of(who.begin(), who.end(), [](const auto& i) { return i.scheme == "super"; });
}

std::optional<acl> validate_acl(const std::vector<wire::acl_record>& sent, const identities& who) {
  acl result;
  if (sent.size() > max_acl_entries) return std::nullopt;
  const auto add = [&](std::int32_t permissions, std::string_view scheme, std::string_view id) {
    result.push_back({permissions, std::string{scheme}, std::string{id}});
  };
  for (auto at = sent.begin(); at != sent.end(); ++at) {
    const auto& a = *at;
    const bool is_repeated = std::any_of(sent.begin(), at, [&](const auto& b) {
      return b.permissions == a.permissions && b.scheme == a.scheme && b.id == a.id;
    });
    if (is_repeated) continue;
    if (result.size() > max_acl_entries) return std::nullopt;
    if (a.scheme == "auth") {
      bool any = false;
      for (const auto& i : who) {
        if (i.scheme != "digest") continue;  // an address does not authenticate a user
        add(a.permissions, i.scheme, i.id);
        any = true;
      }
      if (!any) return std::nullopt;
    } else if (valid_id(a.scheme, a.id)) {
      add(a.permissions, a.scheme, a.id);
    } else {
      return std::nullopt;
    }
  }
  if (result.empty() || result.size() > max_acl_entries) return std::nullopt;
  return result;
}

std::string digest_of(std::string_view user_and_password) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned length = 0;
  EVP_Digest(user_and_password.data(), user_and_password.size(), hash.data(), &length, EVP_sha1(),
             nullptr);
  std::string text(4 * ((length + 2) / 3) + 1, '\0');
  const int written = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), hash.data(),
                                      static_cast<int>(length));
  text.resize(static_cast<std::size_t>(written));
  return std::string{user_and_password.substr(0, user_and_password.find(':'))} + ":" + text;
}

std::string masked_digest(std::string_view id) {
  return std::string{id.substr(0, id.find(':'))} + ":x";
}

}  // namespace conclave::server_impl
