// Runs a command for each claimed item, several commands at a time.
//
// If the worker returned a failed item at once, the item would be the first of the queue again, and
// the worker would retry it without a pause. So the worker keeps the claim on a failed item for a
// while and processes the items behind it in the meantime.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cli/commands/queue/queue_flags.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/run_flags.hpp"
#include "cli/run/watched_run.hpp"
#include "conclave/queue.hpp"

namespace conclave::cli {

class worker {
 public:
  struct work_options {
    std::size_t jobs = 1;
    std::size_t count = 0;  // 0 means no limit
    int max_attempts = 0;   // 0 means no limit
    bool until_empty = false;
    bool quiet = false;
    bool item_as_argument = false;  // pass the item as the last argument, or in place of each {}
    std::chrono::milliseconds retry_after{1000};
  };
  worker(const queue_flags& source, const run_flags& run, const work_options& t, program what);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  // Returns the exit code.
  int run();

 private:
  using clock = loop::clock;
  struct job;
  struct retained_item {
    queue_claim claim;
    clock::time_point until;
  };

  clock::time_point on_turn();
  void on_signal(int s);

  void claim_items();
  void request_claim();
  // Call when new items may be available. If an earlier claim request found no item, that no longer
  // means that the queue is empty.
  void queue_changed();
  void on_claim(error_code ec, std::optional<queue_claim> claim);
  void start_command(queue_claim claim);
  void stop_with_failure(const failure& why);
  // Builds the command line for this item. Returns nullopt if the item cannot be passed as an
  // argument.
  std::optional<program> program_for(const std::string& item) const;
  clock::time_point check_job(job& j);
  void ended(job& j);
  void complete(queue_claim claim);
  void completed(const std::string& name, error_code ec);
  void item_failed(queue_claim claim, const std::string& why);
  clock::time_point return_due_items();

  // Claims no more items. The worker exits with this code when all running commands have ended.
  void stop(int code);
  bool is_done() const;
  int final_code() const;
  void report(const std::string& what) const;

  queue_flags queue_flags_;
  work_options options_;
  run_flags run_flags_;
  program program_;
  std::string path_;
  loop loop_;  // must be created before any other thread; the connection starts one
  connection connection_;
  subscription session_subscription_;
  std::optional<queue> queue_;
  std::size_t pending_claims_ = 0;  // pending claim requests
  std::size_t changes_ = 0;
  std::size_t started_ = 0;              // started commands in total
  std::size_t pending_completions_ = 0;  // items whose completion is pending
  std::list<job> jobs_;
  std::list<retained_item> retained_;
  std::set<std::string> not_completed_;  // names of items; used only if the worker exits by itself
  std::set<std::string> returned_;       // returned items that have not been claimed again yet
  clock::time_point returned_at_;        // time of the last return
  int failures_ = 0;                     // consecutive failures
  clock::time_point next_claim_ = clock::time_point::min();  // no claims before this time
  bool found_empty_ = false;                                 // the last reply found no item
  bool reported_disconnect_ = false;                         // the lost connection was reported
  std::optional<int> code_;                                  // set while the worker is stopping
};

}  // namespace conclave::cli
