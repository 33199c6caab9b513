#include "runtime/tls_engine.hpp"

#include <algorithm>
#include <climits>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace conclave::runtime {
namespace {

std::string last_reason() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  const char* text = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return text != nullptr ? text : "unknown reason";
}

[[noreturn]] void refuse(const std::string& what) {
  throw error{errc::tls_failed, what + " (" + last_reason() + ")"};
}

int give_password(char* buffer, int size, int, void* password) {
  const auto value = static_cast<const secret*>(password)->reveal();
  const auto n = std::min(value.size(), static_cast<std::size_t>(size));
  std::copy_n(value.data(), n, buffer);
  return static_cast<int>(n);
}

bool is_address(const std::string& host) {
  auto* ip = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(ip);
  ERR_clear_error();
  return ip != nullptr;
}

}  // namespace

void tls_settings::free_context::operator()(ssl_ctx_st* c) const noexcept { SSL_CTX_free(c); }
void tls_engine::free_ssl::operator()(ssl_st* s) const noexcept { SSL_free(s); }

tls_settings::tls_settings(const tls_options& options)
    : context_{SSL_CTX_new(TLS_client_method())}, verify_host_{options.verify_host} {
  if (!context_) refuse("cannot set up TLS");
  auto* c = context_.get();
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
  if (options.ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(c) != 1)
      refuse("cannot read the system's certificate authorities");
  } else if (SSL_CTX_load_verify_locations(c, options.ca_file.c_str(), nullptr) != 1) {
    refuse("cannot read the certificate authorities in " + options.ca_file);
  }
  // The password is asked for while the key is read, and not kept.
  SSL_CTX_set_default_passwd_cb(c, give_password);
  SSL_CTX_set_default_passwd_cb_userdata(c, const_cast<secret*>(&options.key_password));
  if (!options.certificate_file.empty() &&
      SSL_CTX_use_certificate_chain_file(c, options.certificate_file.c_str()) != 1)
    refuse("cannot read the certificate in " + options.certificate_file);
  if (!options.key_file.empty() &&
      SSL_CTX_use_PrivateKey_file(c, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    refuse("cannot read the private key in " + options.key_file);
  SSL_CTX_set_default_passwd_cb_userdata(c, nullptr);
  SSL_CTX_set_default_passwd_cb(c, nullptr);
  if (!options.certificate_file.empty() && SSL_CTX_check_private_key(c) != 1)
    refuse("the private key does not belong to the certificate in " + options.certificate_file);
}

tls_engine::tls_engine(const tls_settings& settings, const std::string& host)
    : ssl_{SSL_new(settings.context())} {
  ERR_clear_error();
  unusable_ = !ssl_;
  if (unusable_) return;
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl_.get());
  const bool address = is_address(host);
  if (!address) SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
  if (settings.verify_host()) {
    auto* expected = SSL_get0_param(ssl_.get());
    const int known = address ? X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str())
                              : X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
    unusable_ = known != 1;  // going on would mean not to check the name
  }
}

error_code tls_engine::fail() {
  if (unusable_) {
    reason_ = "cannot check certificates for this host: " + last_reason();
    return errc::tls_failed;
  }
  const auto verify = SSL_get_verify_result(ssl_.get());
  reason_ = verify != X509_V_OK ? X509_verify_cert_error_string(verify) : last_reason();
  ERR_clear_error();
  collect_output();  // the alert that tells the server why
  return errc::tls_failed;
}

error_code tls_engine::receive(std::string_view cipher, std::string& plain) {
  if (unusable_) return fail();
  // What other code left in this thread's queue of errors would be taken for ours.
  ERR_clear_error();
  auto* in = SSL_get_rbio(ssl_.get());
  while (!cipher.empty()) {
    const auto n = BIO_write(in, cipher.data(),
                             static_cast<int>(std::min<std::size_t>(cipher.size(), INT_MAX)));
    if (n <= 0) return fail();
    cipher.remove_prefix(static_cast<std::size_t>(n));
  }
  if (!established_) {
    const int done = SSL_do_handshake(ssl_.get());
    if (done != 1 && SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) return fail();
    established_ = done == 1;
  }
  while (established_) {
    char block[std::size_t{16} * 1024];
    const int n = SSL_read(ssl_.get(), block, sizeof block);
    if (n > 0) {
      plain.append(block, static_cast<std::size_t>(n));
      continue;
    }
    const int why = SSL_get_error(ssl_.get(), n);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_ZERO_RETURN) return fail();
    break;
  }
  collect_output();
  return {};
}

error_code tls_engine::encrypt(std::string_view plain) {
  ERR_clear_error();
  while (!plain.empty()) {
    const int n = SSL_write(ssl_.get(), plain.data(),
                            static_cast<int>(std::min<std::size_t>(plain.size(), 1 << 20)));
    if (n <= 0) return fail();
    plain.remove_prefix(static_cast<std::size_t>(n));
  }
  collect_output();
  return {};
}

void tls_engine::collect_output() {
  char block[std::size_t{16} * 1024];
  for (int n; (n = BIO_read(SSL_get_wbio(ssl_.get()), block, sizeof block)) > 0;)
    output.append(block, static_cast<std::size_t>(n));
}

}  // namespace conclave::runtime
