#include "cli/run/left_behind.hpp"

#include <unistd.h>

#include <iostream>

#include "cli/exit_code.hpp"

namespace conclave::cli {

std::vector<std::pair<std::string, std::string>> environment_of(const hold& held) {
  return {{"CONCLAVE_LOCK_NODE", held.node()},
          {"CONCLAVE_FENCING_TOKEN", std::to_string(held.fencing_token())},
          {"CONCLAVE_SESSION_ID", std::to_string(held.session_id())}};
}

void leave_session(int code) {
  if (code < 0) die_of(-code);
  std::cout.flush();
  ::_exit(code);
}

}  // namespace conclave::cli
