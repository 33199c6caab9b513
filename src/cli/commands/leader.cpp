// `conclave leader`: prints the leader of an election.
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/election_layout.hpp"
#include "cli/show/contender.hpp"
#include "cli/show/duration.hpp"
#include "conclave/election.hpp"

namespace conclave::cli {
namespace {

struct leader_flags {
  connect_flags connect;
  std::string path, layout = default_election_layout;
  bool all = false, json = false;
};

void show_json(const std::vector<contender_info>& found, bool all) {
  if (!all && found.empty()) return print(nullptr);
  if (!all) return print(candidate_json(found.front()));
  json::array list;
  for (const auto& c : found) list.push_back(candidate_json(c));
  print(list);
}

void show(const std::vector<contender_info>& found) {
  const auto now = std::chrono::system_clock::now();
  const auto time = [&](const contender_info& c) {
    return c.holds ? held_for(c, now) : short_time(now - c.since);
  };
  std::size_t widest = 0, oldest = 0;
  for (const auto& c : found) {
    widest = std::max(widest, candidate_name(c).size());
    oldest = std::max(oldest, time(c).size());
  }
  for (const auto& c : found)
    std::cout << std::left << std::setw(static_cast<int>(widest)) << candidate_name(c)
              << (c.holds ? "  leads for " : "  waits for ") << std::right
              << std::setw(static_cast<int>(oldest)) << time(c) << ", token " << c.fencing_token
              << ", " << c.node << "\n";
}

std::vector<contender_info> candidates(client& zk, const std::string& path,
                                       const std::string& layout) {
  try {
    election_options options;
    options.layout = election_layout(layout);
    return election{zk, path, std::move(options)}.candidates();
  } catch (const error& e) {
    if (e.code() != errc::layout_mismatch) throw;
    throw election_disagreement(zk, "leader", path, layout);
  }
}

int run(leader_flags& f, const invocation&) {
  connection c{f.connect};
  auto found = candidates(c.zk(), node_path(f.path), f.layout);
  if (!f.all && found.size() > 1) found.resize(1);
  if (f.json)
    show_json(found, f.all);
  else
    show(found);
  return found.empty() ? failed : ok;
}

}  // namespace

void describe_leader(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<leader_flags>();
  app.description(
      "Print the leader of an election: its id, the time since it became the leader, its fencing\n"
      "token and its node.");
  app.footer(
      "Examples:\n"
      "  conclave leader mailer\n"
      "  conclave leader --json mailer | jq -r .id\n"
      "  conclave leader --all mailer      (all candidates, in order)\n"
      "Exit code: 1 if there is no leader.");
  app.add_option("PATH", flags->path,
                 "path of the election; without a leading /, it is below /conclave")
      ->required();
  app.add_flag("-a,--all", flags->all, "print all candidates, in order");
  app.add_flag("--json", flags->json, "one line of JSON");
  add_election_layout(app, flags->layout);
  add_connect_flags(app, flags->connect);
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
