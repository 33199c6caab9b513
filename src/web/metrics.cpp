#include "web/metrics.hpp"

#include <charconv>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "conclave/detail/prometheus_writer.hpp"
#include "web/path_label.hpp"

namespace conclave::web {
namespace {

using detail::prometheus_writer;
using kind = recipe_info::kind;

// The value of the label `kind`.
const char* label_of(kind k) {
  switch (k) {
    case kind::lock: return to_string(lock_kind::lock);
    case kind::read_write_lock: return to_string(lock_kind::read_write_lock);
    case kind::semaphore: return to_string(lock_kind::semaphore);
    case kind::queue: return "queue";
    case kind::election: return to_string(lock_kind::election);
    case kind::unused: break;
  }
  return "unused";
}

constexpr kind lock_kinds[] = {kind::lock, kind::read_write_lock, kind::semaphore, kind::election};

void sample(prometheus_writer& to, const std::string& labels, const histogram& h) {
  to.sample(labels, h.limits, h.counts, h.sum);
}

std::string labels_of(const recipe_view& r) {
  return "path=\"" + prometheus_writer::escaped(path_label(r.path)) + "\",kind=\"" +
         label_of(r.kind) + "\",layout=\"" + prometheus_writer::escaped(r.layout) + "\"";
}

// The figures are PREFIXle_LIMIT in microseconds, PREFIXsum and PREFIXcount.
void server_histogram(prometheus_writer& to, const std::map<std::string, double>& server,
                      const std::string& prefix) {
  const auto range = prefix + "le_";
  std::map<double, double> below;  // by limit, in microseconds
  for (auto i = server.lower_bound(range); i != server.end() && i->first.starts_with(range); ++i) {
    double limit = 0;
    const auto* const end = i->first.data() + i->first.size();
    if (std::from_chars(i->first.data() + range.size(), end, limit).ptr == end)
      below[limit] = i->second;
  }
  std::vector<double> limits;
  std::vector<std::uint64_t> counts;
  std::uint64_t counted = 0;
  const auto add_count = [&](double up_to) {
    const auto all = static_cast<std::uint64_t>(up_to);
    counts.push_back(all - counted);
    counted = all;
  };
  for (const auto& [limit, count] : below) {
    limits.push_back(limit / one_second);
    add_count(count);
  }
  add_count(server.at(prefix + "count"));
  const auto sum = server.find(prefix + "sum");
  to.sample("", limits, counts, sum == server.end() ? 0.0 : sum->second / one_second);
}

// The names are those of Apache ZooKeeper's own metrics, so that its dashboards work.
void server_metrics(prometheus_writer& to, const std::map<std::string, double>& server) {
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
      {"conclave_store_bytes", "conclave_server_store_bytes", "gauge",
       "Bytes of the store's file."},
      {"conclave_journal_bytes", "conclave_server_journal_bytes", "gauge",
       "Bytes of the store's write-ahead log."},
      {"conclave_disk_free_bytes", "conclave_server_disk_free_bytes", "gauge",
       "Free bytes on the file system of the store."},
      {"conclave_disk_full", "conclave_server_disk_full", "gauge", "1 if the disk is full."},
  };
  for (const auto& [mntr, metric, help] :
       {std::tuple{"conclave_turn", "conclave_server_turn_seconds",
                   "Time from reading requests to sending their replies."},
        std::tuple{"conclave_commit", "conclave_server_commit_seconds",
                   "Time to store the changes of one turn."},
        std::tuple{"conclave_flush", "conclave_server_flush_seconds",
                   "Time of a commit to write and sync the journal."}}) {
    if (!server.contains(std::string{mntr} + "_us_count")) continue;
    to.family(metric, "histogram", help);
    server_histogram(to, server, std::string{mntr} + "_us_");
  }
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
  prometheus_writer to;
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
    sample(to, kind_label(k), s.totals[static_cast<std::size_t>(k)].waits);
  to.family("conclave_lock_hold_seconds", "histogram", "Time from the grant to the release.");
  for (const auto k : lock_kinds)
    sample(to, kind_label(k), s.totals[static_cast<std::size_t>(k)].holds);
  to.family("conclave_handoffs_total", "counter",
            "Number of releases after which a waiter was granted the lock.");
  for (const auto k : lock_kinds)
    to.sample(kind_label(k), s.totals[static_cast<std::size_t>(k)].handoffs);
  if (s.knows_losses) {
    to.family("conclave_losses_total", "counter",
              "Number of holds that ended because the session ended, without a release.");
    for (const auto k : lock_kinds)
      for (const auto reason : {loss::expired, loss::process_exited, loss::closed})
        to.sample(kind_label(k) + ",reason=\"" + to_string(reason) + "\"",
                  s.totals[static_cast<std::size_t>(k)].losses[static_cast<std::size_t>(reason)]);
  }
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
