#include "cli/command.hpp"

namespace conclave::cli {

const std::vector<command>& all_commands() {
  static const std::vector<command> all{
      {"lock", "run a command while holding a lock", describe_lock},
      {"elect", "run a command while this candidate leads", describe_elect},
      {"leader", "print the leader of an election", describe_leader},
      {"queue", "push, pop and process the items of a queue", describe_queue},
      {"status", "show the locks, queues and elections in use", describe_status},
      {"why", "say why a lock is not granted now", describe_why},
      {"ui", "show the locks, queues and elections on a web page", describe_ui},
      {"revoke", "ask the holder of a lock to release it", describe_revoke},
      {"gc", "remove empty nodes of locks and queues", describe_gc},
      {"znode", "read and write single nodes", describe_znode},
      {"doctor", "check the connection and the state of the server", describe_doctor},
      {"bench", "measure the speed of the server", describe_bench},
      {"local", "control this user's own server", describe_local},
      {"serve", "run a server", describe_serve},
      {"completion", "print a completion script for a shell", describe_completion},
      {"help", "print the help of a command", describe_help},
      {"version", "print the version of this program", describe_version},
      {"manual", "", describe_manual},
  };
  return all;
}

}  // namespace conclave::cli
