// Certificates and keys, read once per client or server. The minimum version is TLS 1.2.
//
// Both constructors throw conclave::error (errc::tls_failed) with the name of the invalid file. To
// use renewed files, create a new settings object. Engines may outlive their settings. Any thread
// may create engines from one settings object.
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

// For a client.
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
  // Also throws errc::invalid_argument if the certificate file or key file is missing, or if client
  // certificates are required without a client_ca_file.
  explicit tls_server_settings(const server_tls_options& options);

  ssl_ctx_st* context() const noexcept { return context_.get(); }

 private:
  context_ptr context_;
};

}  // namespace conclave::tls
