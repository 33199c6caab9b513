#include "conclave/context.hpp"

#include "runtime/io_thread.hpp"

namespace conclave {

context::context() : thread_{std::make_shared<runtime::io_thread>()} {}

}  // namespace conclave
