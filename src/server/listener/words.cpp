// The four-letter words that operators and other clients ask before a handshake, in the form of
// Apache's server; and the one of our own, for backups.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>

#include "conclave/version.hpp"
#include "server/listener/service.hpp"

namespace conclave::server_impl {
namespace {

// Clients choose what they dare by this version.
constexpr std::string_view protocol_version = "3.8.0";

// "bkup", a file's path and a newline; on the Unix socket only, and for our user and root only.
constexpr std::string_view backup_word = "bkup";
constexpr std::size_t longest_path = 4096;

std::string hex(std::int64_t v) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(v));
  return text.data();
}

std::string version_line() {
  return "Zookeeper version: " + std::string{protocol_version} + "-conclave-" +
         std::string{version} + ", built on -\n";
}

}  // namespace

bool service::is_word(const link_ptr& l, std::string_view bytes) {
  const auto wait_for_more = [&] {
    l->unread.assign(bytes);
    wait_to_read(l);
    return true;
  };
  if (bytes.size() < 4) return wait_for_more();
  const auto word = bytes.substr(0, 4);
  if (l->local && word == backup_word) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos && bytes.size() < longest_path) return wait_for_more();
    questions_.emplace_back(l, bytes.substr(0, end));
  } else if (std::find(four_letter_words.begin(), four_letter_words.end(), word) !=
             four_letter_words.end()) {
    questions_.emplace_back(l, word);
  } else {
    l->word_ruled_out = true;
    return false;
  }
  l->ending = true;
  leave_waiting_room(*l);
  return true;
}

std::string service::answer_to(const link& from, std::string_view question) {
  const auto word = question.substr(0, 4);
  if (word == backup_word) {
    // The file is written with our rights, and holds what ACLs keep from others.
    if (from.uid != 0 && from.uid != ::geteuid())
      return "only root and user " + std::to_string(::geteuid()) +
             ", whose server this is, may ask for one\n";
    return backup_to(question.substr(4));
  }
  const auto& words = options_.words;
  for (const std::string_view allowed : {word, std::string_view{"*"}})
    if (std::find(words.begin(), words.end(), allowed) != words.end()) return answer(word);
  return std::string{word} + " is not executed because it is not in the whitelist.\n";
}

std::string service::answer(std::string_view word) {
  if (word == "ruok") return "imok";
  if (word == "isro") return disk_full_ ? "ro" : "rw";
  if (word == "srvr") return version_line() + summary();
  if (word == "stat")
    return version_line() + "Clients:\n" + connection_list(false) + "\n" + summary();
  if (word == "mntr") return figures();
  if (word == "conf") return configuration();
  if (word == "cons") return connection_list(true) + "\n";
  if (word == "dump") return session_list();
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
    for (const auto& [id, l] : links_) l->frames_received = l->frames_sent = 0;
    return "Connection stats reset.\n";
  }
  if (word == "srst") {
    counts_ = {};
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
  if (!store_.backup) return "this server keeps nothing on disk\n";
  try {
    store_.backup(std::filesystem::path{path});
  } catch (const std::exception& e) {
    return std::string{e.what()} + "\n";
  }
  return "ok\n";
}

std::string service::summary() const {
  const auto average = counts_.turns == 0 ? 0.0
                                          : static_cast<double>(counts_.all.count()) / 1000.0 /
                                                static_cast<double>(counts_.turns);
  std::array<char, 64> latency{};
  std::snprintf(latency.data(), latency.size(), "%lld/%.4f/%lld",
                static_cast<long long>(counts_.shortest.count() / 1000), average,
                static_cast<long long>(counts_.longest.count() / 1000));
  return "Latency min/avg/max: " + std::string{latency.data()} +
         "\nReceived: " + std::to_string(counts_.received) +
         "\nSent: " + std::to_string(counts_.sent) +
         "\nConnections: " + std::to_string(links_.size()) +
         "\nOutstanding: 0\nZxid: " + hex(core_->zxid()) +
         "\nMode: standalone\nNode count: " + std::to_string(core_->nodes().size()) + "\n";
}

std::string service::figures() const {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text.append(name).append("\t").append(value).append("\n");
  };
  const auto number = [&](std::string_view name, auto value) { line(name, std::to_string(value)); };
  line("zk_version", std::string{protocol_version} + "-conclave-" + std::string{version});
  line("zk_server_state", "standalone");
  number("zk_min_latency", counts_.shortest.count() / 1000);
  number("zk_avg_latency", counts_.turns == 0 ? 0.0
                                              : static_cast<double>(counts_.all.count()) / 1000.0 /
                                                    static_cast<double>(counts_.turns));
  number("zk_max_latency", counts_.longest.count() / 1000);
  number("zk_packets_received", counts_.received);
  number("zk_packets_sent", counts_.sent);
  number("zk_num_alive_connections", links_.size());
  number("zk_outstanding_requests", 0);
  number("zk_znode_count", core_->nodes().size());
  number("zk_watch_count", core_->data_watches().count() + core_->child_watches().count());
  number("zk_ephemerals_count", core_->nodes().ephemeral_count());
  number("zk_approximate_data_size", core_->nodes().data_size());
  number("zk_global_sessions", core_->sessions().size());
  number("zk_uptime",
         std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - started_).count());
  number("conclave_commits", counts_.commits);
  number("conclave_slow_clients_dropped", counts_.dropped_slow);
  number("conclave_connections_rejected", counts_.rejected);
  number("conclave_disk_full", disk_full_ ? 1 : 0);
  return text;
}

std::string service::connection_list(bool long_form) const {
  std::string text;
  for (const auto& [id, l] : links_) {
    const auto session = core_->session_of(id);
    text += " /" + l->name + "[" + (session != 0 ? "1" : "0") +
            "](queued=" + std::to_string(l->unsent()) +
            ",recved=" + std::to_string(l->frames_received) +
            ",sent=" + std::to_string(l->frames_sent);
    if (long_form && session != 0) {
      const auto seconds =
          std::chrono::duration_cast<std::chrono::seconds>(clock::now() - l->since).count();
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
  for (const auto& d : doors_) {
    if (d.what() == door::kind::tcp) text += "clientPort=" + std::to_string(d.port()) + "\n";
    if (d.what() == door::kind::tls) text += "secureClientPort=" + std::to_string(d.port()) + "\n";
    if (d.what() == door::kind::unix_socket) text += "socket=" + options_.socket.string() + "\n";
  }
  const auto& c = core_->options();
  text += "dataDir=" + options_.data.string() + "\ntickTime=" + std::to_string(c.tick.count()) +
          "\nmaxClientCnxns=" + std::to_string(*options_.max_connections_per_address) +
          "\nminSessionTimeout=" + std::to_string(c.min_session_timeout.count()) +
          "\nmaxSessionTimeout=" + std::to_string(c.max_session_timeout.count()) + "\nserverId=0\n";
  return text;
}

}  // namespace conclave::server_impl
