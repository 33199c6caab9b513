#include "tls/openssl_reason.hpp"

#include <system_error>

#include <openssl/err.h>

namespace conclave::tls {

std::string openssl_reason() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  // OpenSSL has no text for system errors, for example a missing file.
  if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
  const char* text = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return text != nullptr ? text : "unknown reason";
}

}  // namespace conclave::tls
