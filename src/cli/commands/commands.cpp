#include "cli/commands/commands.hpp"

namespace conclave::cli {

const std::vector<command>& all_commands() {
  static const std::vector<command> all{
      {"lock", "run a command while holding a lock", describe_lock},
      {"elect", "run a command while being the leader", describe_elect},
      {"leader", "print who leads", describe_leader},
      {"queue", "put items into a queue, take them, work through them", describe_queue},
      {"local", "this user's own server", describe_local},
      {"serve", "run the server for this machine", describe_serve},
  };
  return all;
}

}  // namespace conclave::cli
