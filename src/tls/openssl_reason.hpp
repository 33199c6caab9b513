// Describes an OpenSSL error.
#pragma once

#include <string>

namespace conclave::tls {

// Returns the first error in this thread's OpenSSL error queue, which caused the later ones. Clears
// the queue.
std::string openssl_reason();

}  // namespace conclave::tls
