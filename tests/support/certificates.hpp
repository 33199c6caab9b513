// Throw-away X.509 certificates (EC P-256) for tests of TLS.
//
//   temporary_directory folder;
//   certificate_authority trusted(folder.path(), "ca"), untrusted(folder.path(), "untrusted");
//   auto server = trusted.issue("server", {"DNS:localhost", "IP:127.0.0.1"});
//   auto client = trusted.issue("client", {});
//
// Everything is written as PEM files into the folder. Private keys are PKCS #8, which Java reads.
// Failures throw std::runtime_error.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace conclave::testing {

struct certificate_files {
  std::filesystem::path certificate;  // with the authority's certificate behind it
  std::filesystem::path key;
  std::filesystem::path bundle;  // key and chain in one file, as ZooKeeper's PEM key store wants it
};

class certificate_authority {
 public:
  // Writes NAME.pem. Two authorities of different names do not trust each other.
  certificate_authority(std::filesystem::path folder, const std::string& name);
  ~certificate_authority();
  certificate_authority(const certificate_authority&) = delete;
  certificate_authority& operator=(const certificate_authority&) = delete;

  const std::filesystem::path& certificate() const noexcept { return certificate_path_; }

  // Writes NAME.pem, NAME.key and NAME.bundle.pem: a certificate good for servers and for clients,
  // for the alternative names given in OpenSSL's form ("DNS:...", "IP:..."). The common name is
  // NAME. It is valid from two days ago; a negative `valid_for` (above -2 days) makes an expired
  // one.
  certificate_files issue(const std::string& name,
                          const std::vector<std::string>& alternative_names,
                          std::chrono::seconds valid_for = std::chrono::hours(24));

 private:
  struct identity;
  std::filesystem::path folder_;
  std::filesystem::path certificate_path_;
  std::unique_ptr<identity> self_;
};

}  // namespace conclave::testing
