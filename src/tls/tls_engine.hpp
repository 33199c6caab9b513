// TLS without a socket, for clients and servers. It converts between plaintext and encrypted bytes
// in memory.
//
// The engine does no I/O. A calling thread can therefore encrypt and send while it has locked the
// session's mutex, as it does without TLS. Not thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "conclave/error.hpp"
#include "tls/tls_settings.hpp"

struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace conclave::tls {

class tls_engine {
 public:
  // For a client. If the host name cannot be verified, the handshake fails, not the constructor.
  tls_engine(const tls_settings& settings, const std::string& host);
  // For a server.
  explicit tls_engine(const tls_server_settings& settings);

  // Continues the handshake and decrypts received bytes into `plain`. A client calls it once
  // without bytes to start the handshake. After the first error, every call fails with
  // errc::tls_failed. `output` may then contain an alert for the peer.
  error_code receive(std::string_view cipher, std::string& plain);
  // Requires established().
  error_code encrypt(std::string_view plain);

  // Returns true after a successful handshake. With TLS 1.3, a client is established before the
  // server has verified the client's certificate. If the server refuses the certificate, a later
  // receive() fails.
  bool established() const noexcept { return established_; }
  // The reason for the failure, for the log.
  const std::string& reason() const noexcept { return reason_; }
  // The subject of the peer's verified certificate as in RFC 2253: "CN=worker,O=Example". Empty if
  // the peer sent no certificate, or if its certificate was refused.
  std::string peer_subject() const;
  // The expiry time of the peer's verified certificate, or the epoch if there is none.
  std::chrono::system_clock::time_point peer_valid_until() const;
  // Returns true if the peer has sent a certificate, even if the certificate was refused.
  bool peer_sent_certificate() const noexcept;
  // "TLSv1.3"
  std::string protocol() const;

  // Encrypted bytes to send. After sending, the caller erases the sent bytes from the front.
  std::string output;

 private:
  explicit tls_engine(ssl_ctx_st* context);
  error_code fail();
  void collect_output();
  const x509_st* peer_certificate() const noexcept;

  struct free_ssl {
    void operator()(ssl_st* s) const noexcept;
  };
  std::unique_ptr<ssl_st, free_ssl> ssl_;
  bool established_ = false;
  bool failed_ = false;
  std::string reason_;
};

}  // namespace conclave::tls
