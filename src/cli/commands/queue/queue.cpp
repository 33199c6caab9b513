// `conclave queue`: the group of the queue commands.
#include "cli/command.hpp"
#include "cli/commands/queue/queue_flags.hpp"

namespace conclave::cli {

void describe_queue(CLI::App& app, invocation& call) {
  app.description("Push, pop and process the items of a queue.");
  app.footer(
      "Examples:\n"
      "  conclave queue push thumbnails 1.png 2.png\n"
      "  find . -name '*.png' -print0 | conclave queue push -0 thumbnails\n"
      "  conclave queue work -j 4 thumbnails -c 'read -r name; convert \"$name\" \"$name.jpg\"'\n"
      "  conclave queue ls thumbnails");
  app.require_subcommand(1);
  using describe = void (*)(CLI::App&, invocation&);
  const std::pair<const char*, describe> all[] = {
      {"push", describe_push},       {"pop", describe_pop},         {"peek", describe_peek},
      {"len", describe_len},         {"ls", describe_ls},           {"work", describe_work},
      {"restore", describe_restore}, {"discard", describe_discard},
  };
  for (const auto& [name, describes] : all) describes(*app.add_subcommand(name), call);
}

}  // namespace conclave::cli
