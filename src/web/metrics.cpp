#include "web/metrics.hpp"

#include <charconv>
#include <map>
#include <utility>

#include "web/path_label.hpp"

namespace conclave::web {
namespace {

using kind = recipe_info::kind;

// The value of the label `kind`.
const char* label_of(kind k) {
  switch (k) {
    case kind::lock: return "lock";
    case kind::read_write_lock: return "read_write_lock";
    case kind::semaphore: return "semaphore";
    case kind::queue: return "queue";
    case kind::election: return "election";
    case kind::unused: break;
  }
  return "unused";
}

constexpr kind lock_kinds[] = {kind::lock, kind::read_write_lock, kind::semaphore, kind::election};

class metric_writer {
 public:
  void family(const char* name, const char* type, const char* help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  // `labels` is empty or the part between the braces.
  void sample(const std::string& labels, double value, const char* suffix = "") {
    text_.append(name_).append(suffix);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(number(value)).append("\n");
  }
  void sample(const std::string& labels, std::uint64_t value, const char* suffix = "") {
    text_.append(name_).append(suffix);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(std::to_string(value)).append("\n");
  }
  void sample(const std::string& labels, const histogram& h) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < h.counts.size(); ++i) {
      sum += h.counts[i];
      const auto limit = i < histogram::limits.size() ? number(histogram::limits[i]) : "+Inf";
      sample(labels + ",le=\"" + limit + "\"", sum, "_bucket");
    }
    sample(labels, h.sum, "_sum");
    sample(labels, h.total, "_count");
  }
  std::string text() { return std::move(text_); }

 private:
  static std::string number(double value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return {digits, end};
  }

  std::string name_, text_;
};

std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

std::string labels_of(const recipe_view& r) {
  return "path=\"" + escaped(path_label(r.path)) + "\",kind=\"" + label_of(r.kind) +
         "\",layout=\"" + escaped(r.layout) + "\"";
}

// The names are those of Apache ZooKeeper's own metrics, so that its dashboards work.
void server_metrics(metric_writer& to, const std::map<std::string, double>& server) {
  struct name {
    const char *mntr, *metric, *type, *help;
  };
  static constexpr name names[] = {
      {"zk_num_alive_connections", "num_alive_connections", "gauge", "Number of connections."},
      {"zk_global_sessions", "global_sessions", "gauge", "Number of sessions."},
      {"zk_outstanding_requests", "outstanding_requests", "gauge", "Requests without a reply."},
      {"zk_znode_count", "znode_count", "gauge", "Number of nodes."},
      {"zk_watch_count", "watch_count", "gauge", "Number of watches."},
      {"zk_ephemerals_count", "ephemerals_count", "gauge", "Number of ephemeral nodes."},
      {"zk_approximate_data_size", "approximate_data_size", "gauge", "Bytes of paths and data."},
      {"zk_min_latency", "min_latency", "gauge", "Shortest time of a request in milliseconds."},
      {"zk_avg_latency", "avg_latency", "gauge", "Mean time of a request in milliseconds."},
      {"zk_max_latency", "max_latency", "gauge", "Longest time of a request in milliseconds."},
      {"zk_packets_received", "packets_received", "gauge", "Number of requests so far."},
      {"zk_packets_sent", "packets_sent", "gauge", "Number of replies and events so far."},
      {"zk_uptime", "uptime", "gauge", "Milliseconds since the start."},
      {"conclave_commits", "conclave_server_commits_total", "counter", "Number of commits."},
      {"conclave_slow_clients_dropped", "conclave_server_slow_clients_total", "counter",
       "Number of clients that were disconnected because they did not read."},
      {"conclave_connections_rejected", "conclave_server_rejected_connections_total", "counter",
       "Number of connections above a limit."},
      {"conclave_disk_full", "conclave_server_disk_full", "gauge", "1 if the disk is full."},
  };
  for (const auto& n : names) {
    const auto at = server.find(n.mntr);
    if (at == server.end()) continue;
    to.family(n.metric, n.type, n.help);
    to.sample("", at->second);
  }
}

std::string kind_label(kind k) { return std::string{"kind=\""} + label_of(k) + "\""; }

}  // namespace

std::string metrics_text(const live_state& s, live_model::connection_state connection, moment at) {
  metric_writer to;
  to.family("conclave_up", "gauge", "1 if there is a connection to ZooKeeper.");
  to.sample("", std::uint64_t{connection.is_connected});

  to.family("conclave_recipes", "gauge",
            "Number of locks, semaphores, queues and elections in use.");
  for (const auto k :
       {kind::lock, kind::read_write_lock, kind::semaphore, kind::queue, kind::election}) {
    std::uint64_t n = 0;
    for (const auto& r : s.recipes)
      if (r->kind == k && r->holders + r->waiters + r->queue.items > 0) ++n;
    to.sample(kind_label(k), n);
  }
  to.family("conclave_lock_wait_seconds", "histogram",
            "Time from the creation of a contender's node to the grant.");
  for (const auto k : lock_kinds)
    to.sample(kind_label(k), s.totals[static_cast<std::size_t>(k)].waits);
  to.family("conclave_lock_hold_seconds", "histogram", "Time from the grant to the release.");
  for (const auto k : lock_kinds)
    to.sample(kind_label(k), s.totals[static_cast<std::size_t>(k)].holds);
  to.family("conclave_handoffs_total", "counter",
            "Number of releases after which a waiter was granted the lock.");
  for (const auto k : lock_kinds)
    to.sample(kind_label(k), s.totals[static_cast<std::size_t>(k)].handoffs);
  to.family("conclave_deadlocks", "gauge", "Number of deadlocks between locks.");
  to.sample("certainty=\"certain\"", std::uint64_t{s.deadlocks});
  to.sample("certainty=\"possible\"", std::uint64_t{s.possible_deadlocks});

  const auto each = [&](const char* name, const char* type, const char* help, bool queues,
                        auto value) {
    to.family(name, type, help);
    for (const auto& r : s.recipes)
      if (r->has_metrics && (r->kind == kind::queue) == queues) to.sample(labels_of(*r), value(*r));
  };
  each("conclave_lock_holders", "gauge", "Number of holders.", false,
       [](const auto& r) { return std::uint64_t{r.holders}; });
  each("conclave_lock_waiters", "gauge", "Number of waiters.", false,
       [](const auto& r) { return std::uint64_t{r.waiters}; });
  each("conclave_lock_oldest_wait_seconds", "gauge", "How long the first waiter has waited so far.",
       false, [&](const auto& r) {
         const auto waited = r.oldest_wait == 0 || at < r.oldest_wait ? 0 : at - r.oldest_wait;
         return static_cast<double>(waited) / one_second;
       });
  each("conclave_path_handoffs_total", "counter", "Number of hand-offs of this lock.", false,
       [](const auto& r) { return r.handoffs; });
  each("conclave_queue_length", "gauge", "Number of items, including claimed ones.", true,
       [](const auto& r) { return std::uint64_t{r.queue.items}; });
  each("conclave_queue_claimed", "gauge", "Number of items that a consumer has claimed.", true,
       [](const auto& r) { return std::uint64_t{r.queue.claimed}; });
  each("conclave_queue_set_aside", "gauge", "Number of items set aside after too many attempts.",
       true, [](const auto& r) { return std::uint64_t{r.queue.set_aside}; });
  each("conclave_queue_pushed_total", "counter", "Number of items pushed.", true,
       [](const auto& r) { return r.pushed; });
  each("conclave_queue_popped_total", "counter", "Number of items popped or completed.", true,
       [](const auto& r) { return r.popped; });

  to.family("conclave_ui_inspections_total", "counter",
            "Number of times this program read the tree.");
  to.sample("", s.inspections);
  to.family("conclave_ui_node_reads_total", "counter",
            "Number of contenders this program has read.");
  to.sample("", s.node_reads);
  to.family("conclave_ui_watch_events_total", "counter", "Number of watch events received.");
  to.sample("", s.events);
  if (s.server) server_metrics(to, *s.server);
  return to.text();
}

}  // namespace conclave::web
