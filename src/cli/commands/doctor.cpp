// `conclave doctor`: checks whether the server can be reached and works well.
#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/connect/local_server.hpp"
#include "cli/doctor/checks.hpp"
#include "cli/doctor/checkup.hpp"
#include "cli/doctor/host_facts.hpp"
#include "cli/exit_code.hpp"
#include "cli/show/duration.hpp"
#include "conclave/boot_clock.hpp"
#include "conclave/version.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

struct doctor_flags {
  connect_flags connect;
  bool json = false;
};

bool check_address(checkup& report, const server_address& at) {
  std::string text = at.hosts + " (" + at.source + ")";
  json::object values{{"connect", at.hosts}, {"said_by", at.source}};
  if (!at.local_folder.empty() && !server_answers(at.local_folder / "socket")) try {
      ensure_local_server(at.local_folder);
      text += "; it was not running and has been started";
    } catch (const failure& e) {
      report.add({mark::failed, "server", text, e.what(), std::move(values)});
      return false;
    }
  report.add({mark::ok, "server", text, "", std::move(values)});
  return true;
}

void check_host(checkup& report, const host_facts& h) {
  json::object values{{"host", to_string(h.at)}, {"reached", h.reached()}};
  std::string text = to_string(h.at);
  if (!h.reached())
    return report.add(
        {mark::failed, "host", text + ": " + h.problem.what, h.problem.advice, values});
  if (!h.at.host.empty() && h.address != h.at.host) text += " is " + h.address;
  text += ": connected in " + milliseconds_text(h.connect_time);
  values["connect_ms"] = static_cast<double>(h.connect_time.count()) / 1e6;
  if (!h.version.empty()) {
    values["version"] = h.version;
    values["mode"] = h.mode;
    const auto ours = h.conclave_version();
    text += (ours.empty() ? "; ZooKeeper " + h.version.substr(0, h.version.find('-'))
                          : "; conclave " + ours) +
            ", " + h.mode;
  }
  if (h.reply == srvr_reply::not_serving)
    report.add({mark::failed, "host", text + "; it runs but does not serve requests",
                "its ensemble has no majority; start the other servers", values});
  else if (h.reply == srvr_reply::not_zookeeper)
    report.add({mark::failed, "host", text + "; its reply is not ZooKeeper's protocol",
                "another service uses this port, or the port is for TLS (--tls)", values});
  else if (h.reply == srvr_reply::none)
    report.add({mark::failed, "host", text + "; it does not reply to 'srvr'",
                "check whether the server hangs, or whether the port is for TLS (--tls)", values});
  else
    report.add({mark::ok, "host", text, "", values});
}

void check_tls(checkup& report, const host_facts& h) {
  if (!h.tls) return;
  const auto left = h.tls->valid_until - std::chrono::system_clock::now();
  const auto text = to_string(h.at) + ": " + h.tls->protocol + ", certificate of " +
                    h.tls->subject + ", valid for " + short_time(left);
  const bool expires_soon = left < 14 * 24h;
  report.add({expires_soon ? mark::warning : mark::ok,
              "tls",
              text,
              expires_soon ? "renew the certificate; clients refuse it after it has expired" : "",
              {}});
}

void check_version(checkup& report, const host_facts& h, bool local) {
  const auto theirs = h.conclave_version();
  if (theirs.empty() || theirs == version) return;
  report.add({mark::warning,
              "version",
              to_string(h.at) + " is conclave " + theirs + ", this program is " + version,
              local ? "the versions are compatible; after `conclave local stop`, the next command "
                      "starts a server of this version"
                    : "the versions are compatible; upgrade the older one",
              {}});
}

void check_health(checkup& report, const host_facts& h) {
  if (h.figures.contains("conclave_disk_full")) {
    const bool full = h.figure("conclave_disk_full") != 0;
    report.add(
        {full ? mark::failed : mark::ok,
         "disk",
         to_string(h.at) +
             (full ? ": its disk is full; it only answers reads of sessions that began earlier"
                   : ": the disk is not full"),
         full ? "free at least 4 MiB there; the server then continues by itself" : "",
         {}});
  }
  const auto files = h.figure("zk_open_file_descriptor_count");
  const auto most = h.figure("zk_max_file_descriptor_count");
  if (most > 0 && files > most / 10 * 8)
    report.add({mark::warning,
                "load",
                to_string(h.at) + " has " + std::to_string(files) + " of at most " +
                    std::to_string(most) + " files open",
                "raise its limit (ulimit -n), or find clients that open too many connections",
                {}});
  if (const auto waiting = h.figure("zk_outstanding_requests"); waiting > 1000)
    report.add({mark::warning,
                "load",
                to_string(h.at) + " has " + std::to_string(waiting) + " requests waiting",
                "the server is overloaded; check its disk",
                {}});
}

const char* advice_without_session(const std::vector<host_facts>& hosts) {
  const bool disk_is_full = std::ranges::any_of(
      hosts, [](const host_facts& h) { return h.figure("conclave_disk_full") == 1; });
  return disk_is_full ? "free disk space; until then the server begins no session"
                      : "see the server's log";
}

// If the connection fails, adds a finding with the reason and throws the error.
std::unique_ptr<connection> check_session(checkup& report, server_address at,
                                          const std::vector<host_facts>& hosts) {
  const auto begin = steady::now();
  auto c = std::make_unique<connection>(std::move(at), connection::without_waiting{});
  try {
    c->wait_until_connected();
    const bool reads = c->zk().read_only();
    report.add({reads ? mark::warning : mark::ok,
                "session",
                std::string{"established in "} + short_time(steady::now() - begin) +
                    (reads ? "; this server is read-only" : ""),
                reads ? "the server has no connection to a majority of its ensemble" : "",
                {}});
    return c;
  } catch (const failure& e) {
    const auto reason = c->last_problem();
    if (e.code == unavailable)
      report.add({mark::failed,
                  "session",
                  "no session within " + short_time(steady::now() - begin) +
                      (reason.empty() ? "" : ": " + reason),
                  advice_without_session(hosts),
                  {}});
    else
      report.add({mark::failed, "session", e.what(), "check --auth-file", {}});
    throw;
  }
}

void check_with_session(checkup& report, const server_address& at,
                        const std::vector<host_facts>& hosts) {
  const auto c = check_session(report, at, hosts);
  if (!c->zk().exists("/"))
    return report.add(
        {mark::failed,
         "chroot",
         connect_string::parse(at.hosts).chroot + " does not exist",
         "create it with conclave znode create -p and a connect string without the chroot",
         {}});
  const bool ours = std::all_of(hosts.begin(), hosts.end(),
                                [](const host_facts& h) { return !h.conclave_version().empty(); });
  // Behind a relay, sessions on a Unix socket have a timeout, as over TCP.
  const bool bound_to_processes = c->zk().session_deadline() == boot_clock::time_point::max();
  check_timeout(report, *c, at.on_this_machine && ours && bound_to_processes);
  check_round_trip(report, c->zk());
  check_write(report, c->zk());
  check_access(report, *c);
}

// Returns the connect string of the healthy hosts, if there are any. The findings already report
// the other hosts, and waiting for these would delay the remaining checks.
std::string healthy_hosts(const connect_string& all, const std::vector<host_facts>& hosts) {
  std::string text;
  bool is_socket = false;
  for (const auto& h : hosts) {
    if (!h.reached() || h.reply != srvr_reply::normal) continue;
    text += (text.empty() ? "" : ",") + to_string(h.at);
    is_socket = !h.at.socket_path.empty();
  }
  if (text.empty() || all.chroot.empty()) return text;
  return text + (is_socket ? ":" : "") + all.chroot;
}

int doctor(doctor_flags& f, const invocation&) {
  checkup report{f.json};
  auto at = find_server(f.connect);
  const auto until = steady::now() + at.connect_timeout;
  if (!check_address(report, at)) return report.end(false);

  const auto listed = connect_string::parse(at.hosts);
  const auto hosts = examine_hosts(listed.hosts, at.options.tls, until);
  for (const auto& h : hosts) {
    check_host(report, h);
    check_tls(report, h);
  }
  const auto is_reached = [](const host_facts& h) { return h.reached(); };
  if (std::none_of(hosts.begin(), hosts.end(), is_reached)) return report.end(false);
  check_ensemble(report, hosts);
  for (const auto& h : hosts) {
    check_version(report, h, !at.local_folder.empty());
    check_health(report, h);
  }

  at.connect_timeout =
      std::max(std::chrono::duration_cast<std::chrono::milliseconds>(until - steady::now()), 100ms);
  if (const auto healthy = healthy_hosts(listed, hosts); !healthy.empty()) at.hosts = healthy;
  try {
    check_with_session(report, at, hosts);
  } catch (const failure& e) {
    return report.end(e.code != unavailable);
  } catch (const error& e) {
    // The connection was lost during the checks.
    report.add({mark::failed, "session", e.what(), advice_without_session(hosts), {}});
  }
  return report.end(true);
}

}  // namespace

void describe_doctor(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<doctor_flags>();
  app.description(
      "Check the connection and the state of the server. Prints a list of checks, with advice for\n"
      "each problem.");
  app.footer(
      "Examples:\n"
      "  conclave doctor\n"
      "  conclave doctor -C zk1,zk2,zk3 --connect-timeout 3s\n"
      "  conclave doctor --json | jq '.checks[] | select(.mark == \"failed\")'\n"
      "\n"
      "Exit codes: 0 no check failed; 1 a check failed; 69 no server can be used.");
  app.add_flag("--json", flags->json, "one line of JSON");
  add_connect_flags(app, flags->connect);
  when_used(app, call, flags, doctor);
}

}  // namespace conclave::cli
