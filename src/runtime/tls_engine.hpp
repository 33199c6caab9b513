// TLS over memory: plain bytes in and out on one side, cipher bytes on the other.
//
// No socket in here, so that a calling thread can encrypt and send under the session's lock as it
// does without TLS.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "conclave/client_options.hpp"
#include "conclave/error.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace conclave::runtime {

// Certificates and keys, read once per client.
class tls_settings {
 public:
  // Throws conclave::error (errc::tls_failed) that names the file at fault.
  explicit tls_settings(const tls_options& options);

  ssl_ctx_st* context() const noexcept { return context_.get(); }
  bool verify_host() const noexcept { return verify_host_; }

 private:
  struct free_context {
    void operator()(ssl_ctx_st* c) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, free_context> context_;
  bool verify_host_;
};

class tls_engine {
 public:
  // A host name that cannot be verified makes the handshake fail, not this.
  tls_engine(const tls_settings& settings, const std::string& host);

  // Begins or goes on with the handshake, and reads. `plain` gets what was decrypted.
  error_code receive(std::string_view cipher, std::string& plain);
  error_code encrypt(std::string_view plain);

  bool established() const noexcept { return established_; }
  // Why it failed, for the log.
  const std::string& reason() const noexcept { return reason_; }

  // Cipher bytes to be sent; the caller takes them off the front.
  std::string output;

 private:
  error_code fail();
  void collect_output();

  struct free_ssl {
    void operator()(ssl_st* s) const noexcept;
  };
  std::unique_ptr<ssl_st, free_ssl> ssl_;
  bool established_ = false;
  bool unusable_ = false;
  std::string reason_;
};

}  // namespace conclave::runtime
