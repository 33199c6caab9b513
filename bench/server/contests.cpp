#include "contests.hpp"

#include <functional>
#include <optional>
#include <utility>

#include "apache.hpp"
#include "conclave_server.hpp"
#include "first_session.hpp"
#include "harness/affinity.hpp"
#include "redis_server.hpp"
#include "worker.hpp"

namespace conclave::bench {
namespace {

constexpr std::size_t crowd_sessions = 1'000;

// A path that no other round uses.
std::string new_root() {
  static int count = 0;
  return "/bench-" + std::to_string(++count);
}

bool is_wanted(const options& o, const char* name) { return std::string(name).starts_with(o.only); }

series run(const char* name, turns_plan plan, std::vector<contender> contenders,
           progress_display& progress) {
  std::vector<std::string> names;
  names.reserve(contenders.size());
  for (const auto& who : contenders) names.push_back(who.name);
  auto result = take_turns(plan, std::move(contenders), progress);
  return {name, plan.title, std::move(names), std::move(result)};
}

contender worker_contender(std::string name, assignment a) {
  return {std::move(name), [a = std::move(a)]() mutable {
            a.root = new_root();
            return measure(a);
          }};
}

struct load {
  const char* name;
  const char* title;
  const char* kind;
  std::size_t sessions;
  std::size_t unmeasured;
};
// The first rounds are also what Java's compilers learn from, hence the heaviest load first.
constexpr load loads[] = {
    {series_name::cycles_64, "Lock cycles, 64 sessions", work::lock_cycles, 64, 3},
    {series_name::cycles_8, "Lock cycles, 8 sessions", work::lock_cycles, 8, 1},
    {series_name::cycles_1, "Lock cycles, 1 session", work::lock_cycles, 1, 1},
    {series_name::creates, "Pipelined creates, window 256, 100 bytes", work::pipelined_creates, 1,
     2},
};

figures fill(const std::string& servers, pid_t server) {
  return measure({work::crowd, servers, server, std::nullopt, crowd_sessions, {}, {}, new_root()});
}

}  // namespace

std::vector<series> compete_under_load(const options& wanted, const std::filesystem::path& sockets,
                                       progress_display& progress) {
  std::vector<series> all;
  std::optional<conclave_server> our_server;
  std::optional<testing::zookeeper_server> apache_server;
  for (const auto& l : loads) {
    if (!is_wanted(wanted, l.name)) continue;
    if (!our_server) {
      our_server.emplace(wanted.ours, "full", sockets / "durable");
      apache_server.emplace(apache_options());
    }
    assignment a{l.kind, "", 0, std::nullopt, l.sessions, wanted.warm_up, wanted.measured, ""};
    const auto on = [&a](const std::string& servers, pid_t server) {
      a.servers = servers;
      a.server = server;
      return a;
    };
    std::vector<contender> contenders{
        worker_contender(ours, on(our_server->connect_string(), our_server->pid())),
        worker_contender(apache, on(apache_server->connect_string(), apache_server->pid()))};
    if (!our_server->socket_string().empty())
      contenders.push_back(
          worker_contender(ours_socket, on(our_server->socket_string(), our_server->pid())));
    all.push_back(
        run(l.name, {l.title, wanted.rounds, l.unmeasured}, std::move(contenders), progress));
  }
  return all;
}

std::vector<series> compete_from_start(const options& wanted, progress_display& progress) {
  std::vector<series> all;
  if (is_wanted(wanted, series_name::start)) {
    testing::zookeeper_server apache_server(apache_options());
    apache_server.kill();
    all.push_back(run(series_name::start,
                      {"Start of the process to first session, empty data", wanted.starts, 1},
                      {{ours, [&] { return start_ours(wanted.ours); }},
                       {apache, [&] { return start_apache(apache_server); }}},
                      progress));
  }
  if (is_wanted(wanted, series_name::memory)) {
    const auto fill_ours = [&] {
      const conclave_server server(wanted.ours, "full");
      return fill(server.connect_string(), server.pid());
    };
    const auto fill_apache = [] {
      const testing::zookeeper_server server(apache_options());
      return fill(server.connect_string(), server.pid());
    };
    all.push_back(
        run(series_name::memory,
            {"Resident memory, 10,000 nodes of 100 bytes and 1,000 sessions", wanted.fillings, 0},
            {{ours, fill_ours}, {apache, fill_apache}}, progress));
  }
  return all;
}

std::vector<series> compete_with_redis(const options& wanted, const std::filesystem::path& sockets,
                                       progress_display& progress) {
  if (!is_wanted(wanted, series_name::redis)) return {};
  const conclave_server our_server(wanted.ours, "none", sockets / "conclave");
  const redis_server their_server(sockets / "redis");
  const int cpu = last_allowed_cpu();
  const pinned_process our_pin(our_server.pid(), cpu);
  const pinned_process their_pin(their_server.pid(), cpu);

  const auto contend = [&](const char* name, const char* kind, const std::string& servers) {
    const auto server =
        kind == std::string(work::redis_lock) ? their_server.pid() : our_server.pid();
    return worker_contender(name,
                            {kind, servers, server, cpu, 1, wanted.warm_up, wanted.measured, ""});
  };
  const auto& tcp = our_server.connect_string();
  std::vector<contender> contenders{contend(ours, work::blocking_lock, tcp),
                                    contend(redis, work::redis_lock, their_server.address()),
                                    contend(ours_awaited, work::blocking_lock_awaited, tcp),
                                    contend(ours_asynchronous, work::asynchronous_lock, tcp)};
  if (!our_server.socket_string().empty()) {
    contenders.push_back(contend(ours_socket, work::blocking_lock, our_server.socket_string()));
    contenders.push_back(contend(redis_socket, work::redis_lock, their_server.socket_address()));
  }
  return {run(series_name::redis,
              {"Lock cycles of one client, nothing on disk, client and server on one core",
               wanted.rounds, 1},
              std::move(contenders), progress)};
}

}  // namespace conclave::bench
