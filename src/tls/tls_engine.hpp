// TLS over memory, for a client or a server: plain bytes in and out on one side, cipher bytes on
// the other.
//
// No socket in here, so that a calling thread can encrypt and send under the session's lock as it
// does without TLS. For one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "conclave/error.hpp"
#include "tls/tls_settings.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace conclave::tls {

class tls_engine {
 public:
  // A client's. A host name that cannot be verified makes the handshake fail, not this.
  tls_engine(const tls_settings& settings, const std::string& host);
  // A server's.
  explicit tls_engine(const tls_server_settings& settings);

  // Begins or goes on with the handshake, and reads. `plain` gets what was decrypted. A client
  // calls it once without bytes, to say hello. Fails with errc::tls_failed, and then ever after;
  // `output` may hold an alert that tells the peer why.
  error_code receive(std::string_view cipher, std::string& plain);
  // Only once established.
  error_code encrypt(std::string_view plain);

  // In TLS 1.3 a client has this before the server has judged its certificate: a refusal comes with
  // a later receive().
  bool established() const noexcept { return established_; }
  // Why it failed, for the log.
  const std::string& reason() const noexcept { return reason_; }
  // Whom the peer's certificate names, as in RFC 2253: "CN=worker,O=Example". Empty if it showed
  // none. Only once established; from then on the certificate is verified.
  std::string peer_subject() const;

  // Cipher bytes to be sent; the caller takes them off the front.
  std::string output;

 private:
  explicit tls_engine(ssl_ctx_st* context);
  error_code fail();
  void collect_output();

  struct free_ssl {
    void operator()(ssl_st* s) const noexcept;
  };
  std::unique_ptr<ssl_st, free_ssl> ssl_;
  bool established_ = false;
  bool failed_ = false;
  std::string reason_;
};

}  // namespace conclave::tls
