// Shares one text among clients that request the metrics at the same time.
#pragma once

#include "web/metrics.hpp"

namespace conclave::web {

class metrics_cache {
 public:
  // Requests that see the same state within a second get the same text.
  shared_text text(const live_state& s, live_model::connection_state connection, moment at) {
    const bool is_current = text_ && version_ == s.version &&
                            is_connected_ == connection.is_connected && at >= made_at_ &&
                            at - made_at_ < one_second;
    if (is_current) return text_;
    text_ = share(metrics_text(s, connection, at));
    version_ = s.version;
    is_connected_ = connection.is_connected;
    made_at_ = at;
    return text_;
  }

 private:
  shared_text text_;
  std::uint64_t version_ = 0;
  bool is_connected_ = false;
  moment made_at_ = 0;
};

}  // namespace conclave::web
