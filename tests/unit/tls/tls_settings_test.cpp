// Errors in TLS settings name the file.

#include "tls/tls_settings.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "conclave/error.hpp"
#include "support/certificates.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::tls {
namespace {

using conclave::testing::certificate_authority;
using conclave::testing::certificate_files;
using conclave::testing::temporary_directory;

class server_settings : public ::testing::Test {
 protected:
  server_settings() {
    good.certificate_file = files.certificate;
    good.key_file = files.key;
    good.client_ca_file = authority.certificate();
  }

  std::string text_file(const std::string& name, const std::string& content) const {
    const auto path = folder.path() / name;
    std::ofstream{path} << content;
    return path;
  }

  // The server's key, encrypted with a password.
  std::string encrypted_key(const std::string& password) const {
    std::string path = folder.path() / "locked.key";
    using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
    const file from{std::fopen(files.key.c_str(), "r"), std::fclose};
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key{
        PEM_read_PrivateKey(from.get(), nullptr, nullptr, nullptr), EVP_PKEY_free};
    const file to{std::fopen(path.c_str(), "w"), std::fclose};
    EXPECT_EQ(PEM_write_PKCS8PrivateKey(to.get(), key.get(), EVP_aes_256_cbc(), password.data(),
                                        static_cast<int>(password.size()), nullptr, nullptr),
              1);
    return path;
  }

  static void expect_refused(const server_tls_options& options, errc code,
                             const std::string& message) {
    try {
      const tls_server_settings settings{options};
      ADD_FAILURE() << "accepted; expected: " << message;
    } catch (const error& e) {
      EXPECT_EQ(e.code(), code);
      EXPECT_NE(std::string{e.what()}.find(message), std::string::npos) << e.what();
    }
  }

  temporary_directory folder;
  certificate_authority authority{folder.path(), "ca"};
  certificate_files files = authority.issue("server", {"DNS:localhost"});
  server_tls_options good;
};

TEST_F(server_settings, valid_files_and_at_least_tls_1_2) {
  const tls_server_settings settings{good};
  EXPECT_EQ(SSL_CTX_get_min_proto_version(settings.context()), TLS1_2_VERSION);
  EXPECT_EQ(SSL_CTX_get_min_proto_version(tls_settings{tls_options{}}.context()), TLS1_2_VERSION);
}

TEST_F(server_settings, one_file_may_contain_key_and_chain) {
  good.certificate_file = good.key_file = files.bundle;
  EXPECT_NO_THROW(tls_server_settings{good});
}

TEST_F(server_settings, an_encrypted_key_needs_its_password) {
  good.key_file = encrypted_key("sesame");
  expect_refused(good, errc::tls_failed, "cannot read the private key in " + good.key_file);
  good.key_password = secret::from_memory("wrong");
  expect_refused(good, errc::tls_failed, "cannot read the private key in " + good.key_file);
  good.key_password = secret::from_memory("sesame");
  EXPECT_NO_THROW(tls_server_settings{good});
}

TEST_F(server_settings, missing_files_are_named) {
  const std::string missing = "/no/such/file.pem", reason = " (No such file or directory)";
  auto options = good;
  options.certificate_file = missing;
  expect_refused(options, errc::tls_failed, "cannot read the certificate in " + missing + reason);
  options = good;
  options.key_file = missing;
  expect_refused(options, errc::tls_failed, "cannot read the private key in " + missing + reason);
  options = good;
  options.client_ca_file = missing;
  expect_refused(options, errc::tls_failed,
                 "cannot read the certificate authorities in " + missing + reason);
}

TEST_F(server_settings, invalid_files_are_named) {
  const auto other = text_file("other.pem", "not a certificate\n");
  for (auto file : {&server_tls_options::certificate_file, &server_tls_options::key_file,
                    &server_tls_options::client_ca_file}) {
    auto options = good;
    options.*file = other;
    expect_refused(options, errc::tls_failed, other);
  }
}

TEST_F(server_settings, a_key_of_another_certificate_is_refused) {
  good.key_file = authority.issue("another", {}).key;
  expect_refused(good, errc::tls_failed, good.key_file + " (key values mismatch)");
}

TEST_F(server_settings, missing_settings_are_reported) {
  auto options = good;
  options.certificate_file.clear();
  expect_refused(options, errc::invalid_argument, "certificate_file");
  options = good;
  options.key_file.clear();
  expect_refused(options, errc::invalid_argument, "key_file");
  options = good;
  options.client_ca_file.clear();
  options.require_client_certificate = true;
  expect_refused(options, errc::invalid_argument, "needs a client_ca_file");
}

}  // namespace
}  // namespace conclave::tls
