// Recognises requests that are larger than the server accepts.
//
// When a server receives such a request, it closes the connection without a reply. The client
// cannot distinguish this from a connection that was lost for a different reason, and would send
// the request again forever.
//
// A server reads the requests of a connection in order. So if several large requests are lost with
// a connection, only the first of them can be the reason; see session_context::suspects().
#pragma once

#include <cstddef>

namespace conclave::recipes {

// Requests up to this size never count as too large.
inline constexpr std::size_t always_accepted_bytes = std::size_t{16} * 1024;

// Counts how often one request may have been the reason for a lost connection.
class suspected_refusals {
 public:
  // Returns true if the server seems to refuse the request. The caller then resolves the outcome
  // and reports errc::too_large if the request was not executed.
  bool one_more() noexcept { return ++count_ >= refusals; }

 private:
  static constexpr int refusals = 5;
  int count_ = 0;
};

}  // namespace conclave::recipes
