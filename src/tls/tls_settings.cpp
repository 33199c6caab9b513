#include "tls/tls_settings.hpp"

#include <algorithm>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "conclave/error.hpp"
#include "tls/openssl_reason.hpp"

namespace conclave::tls {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw error{errc::tls_failed, what + " (" + openssl_reason() + ")"};
}

context_ptr make_context(const SSL_METHOD* role) {
  ERR_clear_error();  // errors of other code would be mistaken for ours
  context_ptr c{SSL_CTX_new(role)};
  if (!c) refuse("cannot set up TLS");
  SSL_CTX_set_min_proto_version(c.get(), TLS1_2_VERSION);
  return c;
}

void trust(SSL_CTX* c, const std::string& ca_file) {
  if (SSL_CTX_load_verify_locations(c, ca_file.c_str(), nullptr) != 1)
    refuse("cannot read the certificate authorities in " + ca_file);
}

int give_password(char* buffer, int size, int, void* password) {
  const auto value = static_cast<const secret*>(password)->reveal();
  const auto n = std::min(value.size(), static_cast<std::size_t>(size));
  std::copy_n(value.data(), n, buffer);
  return static_cast<int>(n);
}

void use_certificate(SSL_CTX* c, const std::string& certificate_file, const std::string& key_file,
                     const secret& key_password) {
  // OpenSSL asks for the password while it reads the key, and does not store it.
  SSL_CTX_set_default_passwd_cb(c, give_password);
  SSL_CTX_set_default_passwd_cb_userdata(c, const_cast<secret*>(&key_password));
  if (!certificate_file.empty() &&
      SSL_CTX_use_certificate_chain_file(c, certificate_file.c_str()) != 1)
    refuse("cannot read the certificate in " + certificate_file);
  if (!key_file.empty() && SSL_CTX_use_PrivateKey_file(c, key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    refuse("cannot read the private key in " + key_file);
  SSL_CTX_set_default_passwd_cb_userdata(c, nullptr);
  SSL_CTX_set_default_passwd_cb(c, nullptr);
  if (!certificate_file.empty() && SSL_CTX_check_private_key(c) != 1)
    refuse("the private key does not belong to the certificate in " + certificate_file);
}

}  // namespace

void free_context::operator()(ssl_ctx_st* c) const noexcept { SSL_CTX_free(c); }

tls_settings::tls_settings(const tls_options& options)
    : context_{make_context(TLS_client_method())}, verify_host_{options.verify_host} {
  auto* c = context_.get();
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
  if (!options.ca_file.empty())
    trust(c, options.ca_file);
  else if (SSL_CTX_set_default_verify_paths(c) != 1)
    refuse("cannot read the system's certificate authorities");
  use_certificate(c, options.certificate_file, options.key_file, options.key_password);
}

tls_server_settings::tls_server_settings(const server_tls_options& options)
    : context_{make_context(TLS_server_method())} {
  if (options.certificate_file.empty() || options.key_file.empty())
    throw error{errc::invalid_argument, "a TLS server needs a certificate_file and a key_file"};
  if (options.require_client_certificate && options.client_ca_file.empty())
    throw error{errc::invalid_argument,
                "require_client_certificate needs a client_ca_file to check the certificates with"};
  auto* c = context_.get();
  // Connections last as long as sessions, so resumption saves nothing and would need keys.
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_options(c, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);  // saves 34 kB per idle connection
  use_certificate(c, options.certificate_file, options.key_file, options.key_password);
  if (options.client_ca_file.empty()) return;
  trust(c, options.client_ca_file);
  // These names are sent to clients, so that they can choose a matching certificate.
  auto* names = SSL_load_client_CA_file(options.client_ca_file.c_str());
  if (names == nullptr)
    refuse("cannot read the certificate authorities in " + options.client_ca_file);
  SSL_CTX_set_client_CA_list(c, names);
  SSL_CTX_set_verify(
      c,
      SSL_VERIFY_PEER | (options.require_client_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
      nullptr);
}

}  // namespace conclave::tls
