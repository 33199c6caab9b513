// Why OpenSSL refused something, in words.
#pragma once

#include <string>

namespace conclave::tls {

// The first error in this thread's queue, which is the cause of those behind it. Empties the queue.
std::string openssl_reason();

}  // namespace conclave::tls
