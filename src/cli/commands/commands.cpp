#include "cli/commands/commands.hpp"

namespace conclave::cli {

const std::vector<command>& all_commands() {
  static const std::vector<command> all{
      {"lock", "run a command while holding a lock", describe_lock},
      {"elect", "run a command while being the leader", describe_elect},
      {"leader", "print who leads", describe_leader},
      {"queue", "put items into a queue, take them, work through them", describe_queue},
      {"status", "the locks, queues and elections in use", describe_status},
      {"revoke", "ask the holder of a lock to release it", describe_revoke},
      {"gc", "remove what locks and queues have left behind", describe_gc},
      {"znode", "look at and change single nodes", describe_znode},
      {"doctor", "can the server be reached, and is it well?", describe_doctor},
      {"bench", "how fast the server is, from here", describe_bench},
      {"local", "this user's own server", describe_local},
      {"serve", "run the server for this machine", describe_serve},
      {"completion", "scripts by which a shell completes this command line", describe_completion},
      {"help", "the help of a command", describe_help},
      {"version", "the version of this program", describe_version},
      {"manual", "", describe_manual},
  };
  return all;
}

}  // namespace conclave::cli
