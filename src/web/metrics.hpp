// The state as metrics, in the text format of Prometheus.
#pragma once

#include <string>

#include "web/live_model.hpp"

namespace conclave::web {

std::string metrics_text(const live_state& s, live_model::connection_state connection, moment at);

}  // namespace conclave::web
