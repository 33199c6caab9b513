// Recognises requests that are larger than the server accepts.
//
// A server closes the connection on such a request and sends no reply. The client cannot
// distinguish this from a connection that was lost for a different reason, and would send the
// request again forever.
#pragma once

#include <cstddef>

namespace conclave::recipes {

// Every server accepts requests up to this size.
inline constexpr std::size_t always_accepted_bytes = std::size_t{16} * 1024;

// Counts the connections that were lost on one request.
class lost_connections {
 public:
  // Returns true if the server seems to refuse the request. The caller then finds out whether it
  // was executed, and reports errc::too_large if not.
  bool one_more(std::size_t request_bytes) noexcept {
    return ++count_ >= refusals && request_bytes > always_accepted_bytes;
  }

 private:
  static constexpr int refusals = 5;
  int count_ = 0;
};

}  // namespace conclave::recipes
