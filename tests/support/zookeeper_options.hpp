// How a real Apache ZooKeeper is to be started by a test. The defaults suit tests: a quick-starting
// small JVM, no fsync, sessions as short as 100 ms; a benchmark replaces `jvm_flags` and sets
// `force_sync`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conclave::testing {

// A second, TLS-only client port. The files are PEM: a key with its chain, and the trusted
// authorities for client certificates (see certificates.hpp).
struct zookeeper_tls {
  zookeeper_tls(std::filesystem::path key_and_chain, std::filesystem::path authorities,
                bool require_client_certificate)
      : key_store(std::move(key_and_chain)),
        trust_store(std::move(authorities)),
        client_certificate_required(require_client_certificate) {}

  std::filesystem::path key_store;
  std::filesystem::path trust_store;
  bool client_certificate_required;
};

struct zookeeper_options {
  zookeeper_options();

  // Also the granularity of session expiry: a session ends at the first multiple of the tick after
  // its timeout, so tests that wait for an expiry want a short one.
  int tick_ms{2000};
  int min_session_timeout_ms{100};
  int max_session_timeout_ms{60000};
  bool force_sync{false};      // fsync before every acknowledgement
  bool read_only_mode{false};  // a node without a quorum serves clients that ask for read-only
  std::optional<zookeeper_tls> tls;

  std::map<std::string, std::string> config;  // lines of zoo.cfg; win over those made here
  std::vector<std::string> java_properties;   // "name=value", without -D; win over those made here
  std::vector<std::string> jvm_flags;
  std::string class_path;
};

}  // namespace conclave::testing
