#include "cli/serve/zoo_cfg.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "cli/connect/private_file.hpp"
#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

std::string trimmed(const std::string& s) {
  const auto begin = s.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\r") - begin + 1);
}

std::string lower(std::string s) {
  for (auto& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    if (auto item = trimmed(text.substr(begin, end - begin)); !item.empty())
      items.push_back(std::move(item));
    begin = end + 1;
  }
  return items;
}

namespace {

// The settings of the file. Reading a setting removes it, so unused() returns the unsupported
// settings.
class settings {
 public:
  explicit settings(const std::filesystem::path& file) : file_{file} {
    std::ifstream in{file};
    if (!in) throw failure{usage, "cannot read " + file.string()};
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      line = trimmed(line);
      if (line.empty() || line.front() == '#') continue;
      const auto equals = line.find('=');
      if (equals == std::string::npos)
        throw failure{usage, file.string() + ":" + std::to_string(number) +
                                 ": write NAME=VALUE, not '" + line + "'"};
      // System properties of Apache's server are settings with this prefix.
      constexpr std::string_view prefix = "zookeeper.";
      auto name = trimmed(line.substr(0, equals));
      if (name.starts_with(prefix)) name.erase(0, prefix.size());
      values_[name] = trimmed(line.substr(equals + 1));
    }
    if (in.bad()) throw failure{usage, "cannot read " + file.string()};  // the path is a folder
  }

  std::string text(const std::string& name) {
    const auto i = values_.find(name);
    if (i == values_.end()) return {};
    auto value = std::move(i->second);
    values_.erase(i);
    return value;
  }

  // Calls f with the number if the setting exists. Refuses numbers below `least`.
  template <class F>
  void number(const std::string& name, F f, long least = 0) {
    const auto value = text(name);
    if (value.empty()) return;
    long n = 0;
    const auto* const end = value.data() + value.size();
    const auto [rest, ec] = std::from_chars(value.data(), end, n);
    if (ec != std::errc{} || rest != end || n < 0)
      throw failure{usage, file_.string() + ": " + name + " must be a number, not '" + value + "'"};
    if (n < least)
      throw failure{usage, file_.string() + ": " + name + " must be at least " +
                               std::to_string(least) + ", not " + value};
    f(n);
  }

  // Returns nullopt if the setting does not exist. Strict, because these settings affect security.
  std::optional<bool> yes_or_no(const std::string& name) {
    if (!values_.contains(name)) return {};
    const auto value = lower(text(name));
    if (value != "true" && value != "false")
      throw failure{usage,
                    file_.string() + ": " + name + " must be true or false, not '" + value + "'"};
    return value == "true";
  }

  const std::map<std::string, std::string>& unused() const noexcept { return values_; }

 private:
  std::filesystem::path file_;
  std::map<std::string, std::string> values_;
};

std::string address(std::string host, long port) {
  if (host.empty()) host = "127.0.0.1";
  if (host.find(':') != std::string::npos && host.front() != '[') host = "[" + host + "]";
  return host + ":" + std::to_string(port);
}

bool starts_with_any(const std::string& name, const std::vector<std::string>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](const auto& b) { return name.starts_with(b); });
}

// Returns true for settings that have no effect on this server. They are not reported.
bool has_no_effect(const std::string& name) {
  static const std::vector<std::string> without_effect{"initLimit",
                                                       "syncLimit",
                                                       "autopurge.",
                                                       "admin.",
                                                       "forceSync",
                                                       "standaloneEnabled",
                                                       "reconfigEnabled",
                                                       "snapCount",
                                                       "preAllocSize",
                                                       "fsync.",
                                                       "metricsProvider.",
                                                       "jmx.",
                                                       "serverCnxnFactory",
                                                       "ssl.quorum.",
                                                       "sslQuorum",
                                                       "quorum.",
                                                       "ssl.handshakeDetectionTimeoutMillis",
                                                       "ssl.hostnameVerification",
                                                       "ssl.keyStore.type",
                                                       "ssl.trustStore.type",
                                                       "ssl.trustStore.password"};
  return starts_with_any(name, without_effect);
}

// Returns true if the setting may restrict access, so that ignoring it would leave the server open.
// Unknown settings are judged by their names.
bool promises_protection(const std::string& name, const std::string& value) {
  // These settings weaken the protection. The server is safe without them.
  static const std::vector<std::string> weakening{
      "skipACL", "allowSaslFailedClients", "maintain_connection_when_sasl_auth_fails",
      "oraclePath"};  // contains "acl", but is not about ACLs
  if (starts_with_any(name, weakening)) return false;
  static const std::vector<std::string> strengthening{"sessionRequireClientSASLAuth", "ssl.crl",
                                                      "ssl.ocsp", "fips-mode", "audit.enable"};
  if (starts_with_any(name, strengthening)) return lower(value) != "false";
  static const std::vector<std::string> keywords{
      "auth", "acl",   "sasl",    "ssl",   "tls",     "secur",      "kerb",     "krb",
      "jaas", "login", "princ",   "requi", "enforce", "passw",      "cert",     "crl",
      "ocsp", "fips",  "encrypt", "audit", "deny",    "truststore", "keystore", "cipher"};
  const auto lower_name = lower(name);
  return std::any_of(keywords.begin(), keywords.end(),
                     [&](const auto& s) { return lower_name.find(s) != std::string::npos; });
}

void read_authentication(settings& s, const std::filesystem::path& file, server_options& options) {
  options.digest_auth = s.yes_or_no("DigestAuthenticationProvider.enabled").value_or(true);
  options.ttl_nodes = s.yes_or_no("extendedTypesEnabled").value_or(true);
  const auto schemes = split_list(s.text("enforce.auth.schemes"));
  if (!s.yes_or_no("enforce.auth.enabled").value_or(false)) return;
  if (schemes.empty())
    throw failure{usage,
                  file.string() + ": enforce.auth.enabled needs enforce.auth.schemes=digest"};
  options.required_auth = schemes;
}

}  // namespace

void refuse_apache_data(const std::filesystem::path& folder) {
  if (folder.empty() || !std::filesystem::exists(folder / "version-2") ||
      std::filesystem::exists(folder / "conclave.db"))
    return;
  throw std::runtime_error{folder.string() +
                           " contains data of Apache ZooKeeper, which this server cannot read; use "
                           "another folder with --data"};
}

std::vector<std::string> read_zoo_cfg(const std::filesystem::path& file, server_options& options) {
  using std::chrono::milliseconds;
  settings s{file};
  if (const auto folder = s.text("dataDir"); !folder.empty()) options.data = folder;
  s.number(
      "tickTime", [&](long n) { options.tick = milliseconds{n}; }, 1);
  s.number(
      "minSessionTimeout", [&](long n) { options.min_session_timeout = milliseconds{n}; }, 1);
  s.number(
      "maxSessionTimeout", [&](long n) { options.max_session_timeout = milliseconds{n}; }, 1);
  s.number("maxClientCnxns",
           [&](long n) { options.max_connections_per_address = static_cast<std::size_t>(n); });
  s.number("maxCnxns", [&](long n) {
    if (n > 0) options.max_connections = static_cast<std::size_t>(n);
  });
  s.number("jute.maxbuffer",
           [&](long n) { options.max_request_bytes = static_cast<std::size_t>(n); });
  s.number(
      "znode.container.checkIntervalMs", [&](long n) { options.reap_interval = milliseconds{n}; },
      1);
  if (const auto digest = s.text("DigestAuthenticationProvider.superDigest"); !digest.empty())
    options.super_digest = digest;
  // Apache's server always allows srvr, because its scripts use it.
  auto& words = options.words.emplace(split_list(s.text("4lw.commands.whitelist")));
  std::vector<std::string> without_meaning;
  std::erase_if(words, [&](const std::string& word) {
    const bool known =
        word == "*" || std::ranges::find(four_letter_words, word) != four_letter_words.end();
    if (!known) without_meaning.push_back("the word '" + word + "' of 4lw.commands.whitelist");
    return !known;
  });
  words.emplace_back("srvr");
  read_authentication(s, file, options);

  const auto host = s.text("clientPortAddress");
  s.number("clientPort", [&](long n) { options.listen.push_back(address(host, n)); });
  const auto secure_host = s.text("secureClientPortAddress");
  s.number("secureClientPort",
           [&](long n) { options.listen_tls.push_back(address(secure_host, n)); });
  if (const auto key_store = s.text("ssl.keyStore.location"); !key_store.empty()) {
    auto& tls = options.tls.emplace();  // PEM file with the key and the chain
    tls.certificate_file = tls.key_file = key_store;
    tls.client_ca_file = s.text("ssl.trustStore.location");
    const auto wanted = lower(s.text("ssl.clientAuth"));
    if (!wanted.empty() && wanted != "none" && wanted != "want" && wanted != "need")
      throw failure{usage, file.string() + ": ssl.clientAuth must be none, want or need, not '" +
                               wanted + "'"};
    tls.require_client_certificate = wanted.empty() || wanted == "need";
    if (wanted == "none") tls.client_ca_file.clear();
    if (const auto word = s.text("ssl.keyStore.password"); !word.empty())
      tls.key_password = secret::from_memory(word);
    if (const auto name = s.text("ssl.keyStore.passwordPath"); !name.empty()) {
      require_private(name);
      tls.key_password = secret::from_file(name);
    }
  }

  if (options.listen.empty() && options.listen_tls.empty())
    throw failure{usage,
                  file.string() + " has no clientPort; add one, for example clientPort=2181"};
  if (options.data.empty())
    throw failure{
        usage, file.string() + " has no dataDir; add one, for example dataDir=/var/lib/conclave"};

  for (const auto& [name, value] : s.unused()) {
    if (starts_with_any(name, {"server.", "dynamicConfigFile", "peerType", "group.", "weight."}))
      throw failure{
          usage, file.string() + " describes an ensemble (" + name +
                     "); conclave serve is a single server; run Apache ZooKeeper for an ensemble"};
    if (!has_no_effect(name) && promises_protection(name, value))
      throw failure{usage, file.string() + ": " + name +
                               " is a security setting that this server does not support; remove "
                               "it, or run Apache ZooKeeper"};
    if (!has_no_effect(name)) without_meaning.push_back(name);
  }
  return without_meaning;
}

}  // namespace conclave::cli
