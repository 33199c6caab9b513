// Protocol messages as text, for traces.
#pragma once

#include <string>
#include <string_view>

#include "conclave/error.hpp"

namespace conclave::simulated {

// All frames in `bytes`. `after_handshake` is false if the first frame is the handshake.
std::string requests_text(std::string_view bytes, bool after_handshake);
std::string replies_text(std::string_view bytes, bool after_handshake);

std::string name_of(error_code ec);

}  // namespace conclave::simulated
