// Certificates and keys, read once per client or server. Minimum is TLS 1.2.
//
// Both constructors throw conclave::error (errc::tls_failed) that names the file at fault. The
// files are not read again; to use renewed ones, make new settings. Engines keep what they need of
// their settings, which may end before them. Any thread may make engines of one settings object.
#pragma once

#include <memory>
#include <string>

#include "conclave/client_options.hpp"
#include "conclave/server_options.hpp"

struct ssl_ctx_st;

namespace conclave::tls {

struct free_context {
  void operator()(ssl_ctx_st* c) const noexcept;
};
using context_ptr = std::unique_ptr<ssl_ctx_st, free_context>;

// A client's.
class tls_settings {
 public:
  explicit tls_settings(const tls_options& options);

  ssl_ctx_st* context() const noexcept { return context_.get(); }
  bool verify_host() const noexcept { return verify_host_; }

 private:
  context_ptr context_;
  bool verify_host_;
};

class tls_server_settings {
 public:
  // Also throws errc::invalid_argument if the certificate or its key is not named, or if a client
  // certificate is required but no client_ca_file is there to check it with.
  explicit tls_server_settings(const server_tls_options& options);

  ssl_ctx_st* context() const noexcept { return context_.get(); }

 private:
  context_ptr context_;
};

}  // namespace conclave::tls
