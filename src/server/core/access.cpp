#include "server/core/access.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

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

constexpr std::string_view auth_scheme = "auth";

// An address does not authenticate a user.
bool proves_a_user(const identity& i) { return i.scheme == "digest"; }

// Calls f(entry) for the first one of equal entries.
template <class F>
void for_each_distinct(const std::vector<wire::acl_record>& sent, F f) {
  std::set<std::tuple<std::int32_t, std::string_view, std::string_view>> seen;
  for (const auto& a : sent)
    if (seen.emplace(a.permissions, a.scheme, a.id).second) f(a);
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

bool add_identity(identities& who, identity added) {
  if (std::find(who.begin(), who.end(), added) != who.end()) return true;
  auto bytes = added.id.size();
  if (bytes > max_identity_bytes || who.size() >= max_identities) return false;
  for (const auto& i : who) bytes += i.id.size();
  if (bytes > max_identities_bytes) return false;
  who.push_back(std::move(added));
  return true;
}

bool is_valid_acl(const std::vector<wire::acl_record>& sent, const identities& who) {
  if (sent.empty() || sent.size() > max_acl_entries) return false;
  std::size_t user_count = 0, user_bytes = 0;
  for (const auto& i : who) {
    if (!proves_a_user(i)) continue;
    ++user_count;
    user_bytes += i.scheme.size() + i.id.size();
  }
  std::size_t sent_bytes = 0;
  for (const auto& a : sent) {
    sent_bytes += a.scheme.size() + a.id.size();
    const bool is_auth = a.scheme == auth_scheme;
    if (is_auth ? user_count == 0 : !valid_id(a.scheme, a.id)) return false;
  }
  if (sent_bytes > max_acl_bytes) return false;

  std::size_t count = 0, bytes = 0;
  for_each_distinct(sent, [&](const wire::acl_record& a) {
    const bool is_auth = a.scheme == auth_scheme;
    count += is_auth ? user_count : 1;
    bytes += is_auth ? user_bytes : a.scheme.size() + a.id.size();
  });
  return count <= max_acl_entries && bytes <= max_acl_bytes;
}

acl expand_acl(const std::vector<wire::acl_record>& sent, const identities& who) {
  acl result;
  for_each_distinct(sent, [&](const wire::acl_record& a) {
    if (a.scheme != auth_scheme) {
      result.push_back({a.permissions, std::string{a.scheme}, std::string{a.id}});
      return;
    }
    for (const auto& i : who)
      if (proves_a_user(i)) result.push_back({a.permissions, i.scheme, i.id});
  });
  return result;
}

std::size_t size_in_bytes(const acl& access) {
  std::size_t bytes = 0;
  for (const auto& entry : access) bytes += entry.scheme.size() + entry.id.size();
  return bytes;
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
