// Follows the recipes below some paths, and publishes their state after each change.
//
// Recursive watches report every change, and their events alone show the order and the times of
// grants. The model reads the changed recipes only to show the owners of new contenders. It spends
// at most a fifth of its time on reads and makes at most twenty inspections per second. So the load
// on the server does not grow with the number of hand-offs. Servers before ZooKeeper 3.6 have no
// recursive watches. There, the model reads the whole tree every second.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/inspect.hpp"
#include "conclave/wait_graph.hpp"
#include "web/background_query.hpp"
#include "web/inbox.hpp"
#include "web/live_state.hpp"
#include "web/loss_finder.hpp"
#include "web/recipe_record.hpp"

namespace conclave::web {

class live_model {
 public:
  struct subject {
    std::vector<std::string> paths;
    std::vector<layout> layouts;  // in addition to those that Conclave knows
    // See ui_options.
    std::function<std::string()> read_server;
    std::function<std::vector<std::string>()> read_session_ends;
  };
  // Calls `on_change` when there is a new state, or when the connection was lost or restored. It is
  // called on the model's thread and on the client's I/O thread.
  live_model(client& zk, subject what, std::function<void()> on_change);
  // Closes the client, so that reads that wait for a connection return.
  ~live_model();
  live_model(const live_model&) = delete;
  live_model& operator=(const live_model&) = delete;

  // These three may be called from any thread.
  std::shared_ptr<const live_state> state() const;
  struct connection_state {
    bool is_connected = false;
    moment since = 0;
  };
  connection_state connection() const;
  // Asks a holder to release its lock. Has no effect if the node does not hold a lock now. The
  // outcome is one of the notices of a later state.
  void ask_to_release(std::string node);

 private:
  using clock = std::chrono::steady_clock;
  using key = std::tuple<std::string, std::string, recipe_info::kind>;  // path, layout, kind
  // Whether changes are reported by recursive watches.
  enum class watching { unsupported, not_set, set };
  // What does not yet show the latest changes.
  struct outdated_parts {
    bool tree = true;   // the whole tree must be read
    bool graph = true;  // the wait-for graph
    bool state = true;  // the published state
  };
  // What the inspections found, apart from the recipes.
  struct tree_summary {
    bool is_complete = false;  // the whole tree was read, and the last inspection did not fail
    bool omits_recipes = false;
    std::string unreadable = "[]";
    std::string error;
    moment read_at = 0;
  };

  void run(const std::stop_token& stop);
  void turn(const std::stop_token& stop);
  void set_watches();
  void on_event(const watch_event& e);
  void on_session_event(const session_event& e);
  void apply(const inbox::contents& received);
  void apply(const timed_event& e);
  void release(const std::vector<std::string>& nodes);
  void inspect_changed();
  void update(std::vector<recipe_info> found, const std::vector<std::string>& paths,
              recipe_record::reading r);
  void learn_clock_offset(const std::vector<recipe_info>& found);
  void forget_unused(moment at);
  void update_graph();
  void update_losses();
  void update_server();
  void publish();
  std::string changed_recipe(const std::string& node) const;
  bool is_below_subject(const std::string& path) const;
  clock::time_point next_turn() const;
  void add_notice(const std::string& text, bool is_error);

  client& zk_;
  const subject subject_;
  const std::function<void()> on_change_;
  const std::shared_ptr<inspection_cache> cache_ = std::make_shared<inspection_cache>();
  watcher watcher_;

  inbox inbox_;
  mutable std::mutex mutex_;  // for the next two members
  std::shared_ptr<const live_state> state_ = std::make_shared<live_state>();
  connection_state connection_;

  // The following members are used only on the model's thread.
  std::map<key, std::unique_ptr<recipe_record>> records_;
  std::map<std::uint64_t, std::shared_ptr<const recipe_view>> views_;  // by id
  std::set<std::uint64_t> changed_records_;
  std::set<std::string> changed_paths_;
  std::map<std::string, std::string> deadlocked_paths_;        // path to "certain" or "possible"
  std::unordered_map<std::string, moment> created_, deleted_;  // since the last inspection began
  std::array<kind_totals, kinds> totals_{};
  loss_finder losses_;
  std::shared_ptr<const background_query<removed_nodes>::answer> applied_ends_;
  std::uint64_t ids_ = 0;
  std::size_t with_metrics_ = 0;
  watching watching_ = watching::not_set;
  outdated_parts outdated_;
  tree_summary tree_;
  bool has_rates_ = false;  // a record has a rate that changes with time
  std::optional<moment> clock_offset_;
  clock::time_point next_inspection_{}, next_full_inspection_{}, next_graph_{}, next_rates_{},
      next_server_{};
  struct notice {
    std::uint64_t id;
    moment at;
    std::string text;
    bool is_error;
  };
  std::vector<notice> notices_;
  shared_text graph_;
  std::vector<deadlock> deadlocks_;  // confirmed
  std::size_t certain_deadlocks_ = 0, possible_deadlocks_ = 0;
  std::shared_ptr<const std::map<std::string, double>> server_;
  std::uint64_t inspections_ = 0, event_count_ = 0;

  background_query<removed_nodes> session_ends_;
  subscription session_events_;
  std::jthread thread_;  // the last member, because the thread uses the others
};

}  // namespace conclave::web
