#include "tls/tls_engine.hpp"

#include <algorithm>
#include <climits>
#include <ctime>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "tls/openssl_reason.hpp"

namespace conclave::tls {
namespace {

bool is_address(const std::string& host) {
  auto* ip = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(ip);
  ERR_clear_error();
  return ip != nullptr;
}

// Moves the content of a memory BIO.
void take_all(BIO* from, std::string& into) {
  char block[std::size_t{16} * 1024];
  for (int n; (n = BIO_read(from, block, sizeof block)) > 0;)
    into.append(block, static_cast<std::size_t>(n));
}

}  // namespace

void tls_engine::free_ssl::operator()(ssl_st* s) const noexcept { SSL_free(s); }

tls_engine::tls_engine(ssl_ctx_st* context) {
  ERR_clear_error();
  ssl_.reset(SSL_new(context));
  failed_ = !ssl_;
  if (failed_)
    reason_ = "cannot begin: " + openssl_reason();
  else
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
}

tls_engine::tls_engine(const tls_settings& settings, const std::string& host)
    : tls_engine{settings.context()} {
  if (failed_) return;
  SSL_set_connect_state(ssl_.get());
  const bool address = is_address(host);
  if (!address) SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
  if (settings.verify_host()) {
    auto* expected = SSL_get0_param(ssl_.get());
    const int known = address ? X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str())
                              : X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size());
    failed_ = known != 1;  // otherwise the name would not be checked
    if (failed_) reason_ = "cannot check certificates for this host: " + openssl_reason();
  }
}

tls_engine::tls_engine(const tls_server_settings& settings) : tls_engine{settings.context()} {
  if (!failed_) SSL_set_accept_state(ssl_.get());
}

error_code tls_engine::fail() {
  failed_ = true;
  const auto verify = SSL_get_verify_result(ssl_.get());
  reason_ = verify != X509_V_OK ? X509_verify_cert_error_string(verify) : openssl_reason();
  ERR_clear_error();
  collect_output();  // the alert for the peer
  return errc::tls_failed;
}

error_code tls_engine::receive(std::string_view cipher, std::string& plain) {
  if (failed_) return errc::tls_failed;
  // Errors of other code in this thread's queue would be mistaken for ours.
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
  if (failed_) return errc::tls_failed;
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

// OpenSSL does not keep a certificate that it refuses.
const x509_st* tls_engine::peer_certificate() const noexcept {
  return ssl_ ? SSL_get0_peer_certificate(ssl_.get()) : nullptr;
}

std::string tls_engine::peer_subject() const {
  std::string subject;
  const auto* certificate = peer_certificate();
  if (certificate == nullptr) return subject;
  auto* text = BIO_new(BIO_s_mem());
  // Without ESC_MSB, UTF-8 names stay readable, as in Java.
  X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0,
                     XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  take_all(text, subject);
  BIO_free(text);
  return subject;
}

std::chrono::system_clock::time_point tls_engine::peer_valid_until() const {
  const auto* certificate = peer_certificate();
  std::tm parts{};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1)
    return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

bool tls_engine::peer_sent_certificate() const noexcept {
  return peer_certificate() != nullptr || (ssl_ && SSL_get_verify_result(ssl_.get()) != X509_V_OK);
}

std::string tls_engine::protocol() const { return ssl_ ? SSL_get_version(ssl_.get()) : ""; }

void tls_engine::collect_output() { take_all(SSL_get_wbio(ssl_.get()), output); }

}  // namespace conclave::tls
