#include "cli/run/heirs.hpp"

#include <unistd.h>

#include <iostream>

#include "cli/exit_code.hpp"

namespace conclave::cli {

server_address server_for_heirs(const connect_flags& f) {
  auto at = find_server(f);
  at.options.inheritable = true;
  return at;
}

std::vector<std::pair<std::string, std::string>> environment_of(const hold& held) {
  return {{"CONCLAVE_LOCK_NODE", held.node()},
          {"CONCLAVE_FENCING_TOKEN", std::to_string(held.fencing_token())},
          {"CONCLAVE_SESSION_ID", std::to_string(held.session_id())}};
}

void leave_session_to_heirs(int code) {
  if (code < 0) die_of(-code);
  std::cout.flush();
  ::_exit(code);
}

}  // namespace conclave::cli
