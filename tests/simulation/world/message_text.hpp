// Messages in words, for traces.
#pragma once

#include <string>
#include <string_view>

#include "conclave/error.hpp"

namespace conclave::simulated {

// All frames of what was sent; `greeted`: the handshake is not the first of them.
std::string requests_text(std::string_view bytes, bool greeted);
std::string answers_text(std::string_view bytes, bool greeted);

std::string name_of(error_code ec);

}  // namespace conclave::simulated
