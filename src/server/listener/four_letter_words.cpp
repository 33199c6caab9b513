// The four-letter words of ZooKeeper, with the reply formats of Apache's server, and Conclave's own
// word for backups.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include <boost/asio/post.hpp>

#include "conclave/version.hpp"
#include "server/listener/service.hpp"

namespace conclave::server_impl {
namespace {

// Clients use this version to decide which requests they send.
constexpr std::string_view protocol_version = "3.8.0";

// A backup request is "bkup", the path of a file and a newline. It is accepted only on the Unix
// socket, from root and the server's own user.
constexpr std::string_view backup_command = "bkup";
constexpr std::size_t max_path = 4096;

std::string hex(std::int64_t v) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(v));
  return text.data();
}

std::string version_line() {
  return "Zookeeper version: " + std::string{protocol_version} + "-conclave-" +
         std::string{version} + ", built on -\n";
}

// Returns true if the time to answer this word depends on the number of sessions, nodes or watches.
bool is_slow(std::string_view request) {
  static constexpr std::array<std::string_view, 6> slow{"dump", "cons", "stat",
                                                        "wchc", "wchp", backup_command};
  return std::find(slow.begin(), slow.end(), request.substr(0, 4)) != slow.end();
}

}  // namespace

bool service::handle_four_letter_word(const connection_ptr& c, std::string_view bytes) {
  const auto wait_for_more = [&] {
    c->unparsed.assign(bytes);
    wait_to_read(c);
    return true;
  };
  if (bytes.size() < 4) return wait_for_more();
  const auto word = bytes.substr(0, 4);
  if (c->is_local && word == backup_command) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos && bytes.size() < max_path) return wait_for_more();
    pending_words_.emplace_back(c, bytes.substr(0, end));
  } else if (std::find(four_letter_words.begin(), four_letter_words.end(), word) !=
             four_letter_words.end()) {
    pending_words_.emplace_back(c, word);
  } else {
    enter(*c, client_connection::phase::handshake);
    return false;
  }
  enter(*c, client_connection::phase::closing);
  return true;
}

bool service::answers(const client_connection& from, std::string_view word) const {
  const auto contains = [](const auto& list, std::string_view w) {
    return std::find(list.begin(), list.end(), w) != list.end();
  };
  if (const auto& chosen = options_.words) return contains(*chosen, word) || contains(*chosen, "*");
  constexpr std::array<std::string_view, 3> without_authentication{"ruok", "srvr", "isro"};
  const bool is_trusted = options_.required_auth.empty() || from.from.kind == peer_kind::owner;
  return is_trusted ? contains(default_words, word) : contains(without_authentication, word);
}

// Answers all fast words, but only one slow word. So clients that repeat slow words delay each
// request of another client by at most one of them.
void service::answer_words() {
  const auto answer = [this](const connection_ptr& c, const std::string& word) {
    if (c->is_closed()) return;
    auto text = reply_to(*c, word);
    send(c, text);
  };
  for (auto& [c, word] : std::exchange(pending_words_, {})) {
    if (is_slow(word))
      slow_words_.emplace_back(c, std::move(word));
    else
      answer(c, word);
  }
  if (slow_words_.empty()) return;
  const auto [c, word] = std::move(slow_words_.front());
  slow_words_.pop_front();
  answer(c, word);
  if (!slow_words_.empty()) boost::asio::post(io_, [] {});  // so that the next turn does not wait
}

std::string service::reply_to(const client_connection& from, std::string_view request) {
  const auto word = request.substr(0, 4);
  if (word == backup_command) {
    // The server writes the file with its own permissions, and the file contains all nodes,
    // whatever their ACLs.
    if (from.uid != 0 && from.uid != ::geteuid())
      return "only root and user " + std::to_string(::geteuid()) +
             " may request a backup of this server\n";
    return backup_to(request.substr(4));
  }
  if (answers(from, word)) return run_command(word);
  return std::string{word} + " is not executed because it is not in the whitelist.\n";
}

std::string service::run_command(std::string_view word) {
  if (word == "ruok") return "imok";
  if (word == "isro") return core_->is_writable() ? "rw" : "ro";
  if (word == "srvr") return version_line() + summary();
  if (word == "stat")
    return version_line() + "Clients:\n" + connection_list(false) + "\n" + summary();
  if (word == "mntr") return metrics();
  if (word == "conf") return configuration();
  if (word == "cons") return connection_list(true) + "\n";
  if (word == "dump") return session_list();
  if (word == "ends") return ended_nodes_.to_text();
  if (word == "wchs") {
    const auto& data = core_->data_watches();
    const auto& child = core_->child_watches();
    return std::to_string(std::max(data.watching_connections(), child.watching_connections())) +
           " connections watching " + std::to_string(data.watched_paths() + child.watched_paths()) +
           " paths\nTotal watches:" + std::to_string(data.count() + child.count()) + "\n";
  }
  if (word == "wchc" || word == "wchp") {
    std::map<std::string, std::set<std::string>> lists;
    const auto add = [&](const std::string& path, connection_id who) {
      const auto session = hex(core_->session_of(who));
      word == "wchc" ? lists[session].insert(path) : lists[path].insert(session);
    };
    core_->data_watches().for_each(add);
    core_->child_watches().for_each(add);
    std::string text;
    for (const auto& [head, lines] : lists) {
      text += head + "\n";
      for (const auto& line : lines) text += "\t" + line + "\n";
    }
    return text + "\n";
  }
  if (word == "dirs")
    return "datadir_size: " + std::to_string(core_->nodes().data_size()) + "\nlogdir_size: 0\n";
  if (word == "crst") {
    for (const auto& [id, c] : connections_) c->frames_received = c->frames_sent = 0;
    return "Connection stats reset.\n";
  }
  if (word == "srst") {
    statistics_ = {};
    return "Server stats reset.\n";
  }
  if (word == "envi") {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return "Environment:\nzookeeper.version=" + std::string{protocol_version} + "-conclave-" +
           std::string{version} + ", built on -\nhost.name=" + host.data() + "\nos.name=Linux\n";
  }
  return {};
}

std::string service::backup_to(std::string_view path) {
  if (!storage_.backup) return "this server keeps nothing on disk\n";
  try {
    storage_.backup(std::filesystem::path{path});
  } catch (const std::exception& e) {
    return std::string{e.what()} + "\n";
  }
  return "ok\n";
}

std::string service::summary() const {
  const auto average = statistics_.turns == 0
                           ? 0.0
                           : static_cast<double>(statistics_.total_time.count()) / 1000.0 /
                                 static_cast<double>(statistics_.turns);
  std::array<char, 64> latency{};
  std::snprintf(latency.data(), latency.size(), "%lld/%.4f/%lld",
                static_cast<long long>(statistics_.min_time.count() / 1000), average,
                static_cast<long long>(statistics_.max_time.count() / 1000));
  return "Latency min/avg/max: " + std::string{latency.data()} +
         "\nReceived: " + std::to_string(statistics_.received) +
         "\nSent: " + std::to_string(statistics_.sent) +
         "\nConnections: " + std::to_string(connections_.size()) +
         "\nOutstanding: 0\nZxid: " + hex(core_->zxid()) +
         "\nMode: standalone\nNode count: " + std::to_string(core_->nodes().size()) + "\n";
}

std::string service::metrics() const {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text.append(name).append("\t").append(value).append("\n");
  };
  const auto number = [&](std::string_view name, auto value) { line(name, std::to_string(value)); };
  // Tools that read mntr expect names of letters, digits and underscores.
  const auto histogram = [&](const std::string& name, const duration_histogram& h) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < h.limits.size(); ++i)
      number(name + "_us_le_" + std::to_string(h.limits[i]), sum += h.counts[i]);
    number(name + "_us_sum", std::chrono::duration_cast<std::chrono::microseconds>(h.sum).count());
    number(name + "_us_count", h.total);
  };
  line("zk_version", std::string{protocol_version} + "-conclave-" + std::string{version});
  line("zk_server_state", "standalone");
  number("zk_min_latency", statistics_.min_time.count() / 1000);
  number("zk_avg_latency", statistics_.turns == 0
                               ? 0.0
                               : static_cast<double>(statistics_.total_time.count()) / 1000.0 /
                                     static_cast<double>(statistics_.turns));
  number("zk_max_latency", statistics_.max_time.count() / 1000);
  number("zk_packets_received", statistics_.received);
  number("zk_packets_sent", statistics_.sent);
  number("zk_num_alive_connections", connections_.size());
  number("zk_outstanding_requests", 0);
  number("zk_znode_count", core_->nodes().size());
  number("zk_watch_count", core_->data_watches().count() + core_->child_watches().count());
  number("zk_ephemerals_count", core_->nodes().ephemeral_count());
  number("zk_approximate_data_size", core_->nodes().data_size());
  number("zk_global_sessions", core_->sessions().size());
  number("zk_uptime",
         std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - started_).count());
  number("conclave_commits", statistics_.commits);
  number("conclave_slow_clients_dropped", statistics_.dropped_slow);
  number("conclave_connections_rejected", statistics_.rejected);
  number("conclave_disk_full", core_->is_writable() ? 0 : 1);
  histogram("conclave_turn", statistics_.turn_times);
  histogram("conclave_commit", statistics_.commit_times);
  if (storage_.usage) {
    const auto disk = storage_.usage();
    histogram("conclave_flush", disk.flushes);
    number("conclave_store_bytes", disk.files.store_bytes);
    number("conclave_journal_bytes", disk.files.journal_bytes);
    number("conclave_disk_free_bytes", disk.files.free_bytes);
  }
  return text;
}

std::string service::connection_list(bool long_form) const {
  std::string text;
  for (const auto& [id, c] : connections_) {
    const auto session = core_->session_of(id);
    text += " /" + c->name + "[" + (session != 0 ? "1" : "0") +
            "](queued=" + std::to_string(c->unsent()) +
            ",recved=" + std::to_string(c->frames_received) +
            ",sent=" + std::to_string(c->frames_sent);
    if (long_form && session != 0) {
      const auto seconds =
          std::chrono::duration_cast<std::chrono::seconds>(clock::now() - c->since).count();
      text += ",sid=" + hex(session) + ",age=" + std::to_string(seconds) +
              "s,to=" + std::to_string(core_->sessions().all().at(session).row.timeout_ms);
    }
    text += ")\n";
  }
  return text;
}

std::string service::session_list() const {
  const auto& sessions = core_->sessions().all();
  std::string text =
      "SessionTracker dump:\nGlobal Sessions(" + std::to_string(sessions.size()) + "):\n";
  for (const auto& [id, s] : sessions)
    text += hex(id) + "\t" + std::to_string(s.row.timeout_ms) + "ms\n";
  const auto& owners = core_->nodes().ephemerals();
  text +=
      "ephemeral nodes dump:\nSessions with Ephemerals (" + std::to_string(owners.size()) + "):\n";
  for (const auto& [id, paths] : owners) {
    text += hex(id) + ":\n";
    for (const auto path : paths) text.append("\t").append(path).append("\n");
  }
  return text;
}

std::string service::configuration() const {
  std::string text;
  for (const auto& a : acceptors_) {
    if (a.transport_type() == acceptor::transport::tcp)
      text += "clientPort=" + std::to_string(a.port()) + "\n";
    if (a.transport_type() == acceptor::transport::tls)
      text += "secureClientPort=" + std::to_string(a.port()) + "\n";
    if (a.transport_type() == acceptor::transport::unix_socket)
      text += "socket=" + options_.socket.string() + "\n";
  }
  const auto& c = core_->options();
  text += "dataDir=" + options_.data.string() + "\ntickTime=" + std::to_string(c.tick.count()) +
          "\nmaxClientCnxns=" + std::to_string(*options_.max_connections_per_address) +
          "\nminSessionTimeout=" + std::to_string(c.min_session_timeout.count()) +
          "\nmaxSessionTimeout=" + std::to_string(c.max_session_timeout.count()) + "\nserverId=0\n";
  return text;
}

}  // namespace conclave::server_impl
