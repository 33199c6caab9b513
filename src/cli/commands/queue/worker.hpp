// Runs a command for each item that it claims, several at a time.
//
// An item whose command failed would be the first of the queue again. So its claim is kept for a
// while: the items behind it come first, and no item is tried over and over without a pause.
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
  struct terms {
    std::size_t jobs = 1;
    std::size_t count = 0;  // 0: no limit
    int max_attempts = 0;   // 0: no limit
    bool until_empty = false;
    bool quiet = false;
    bool item_as_argument = false;  // the last one, or instead of each {}
    std::chrono::milliseconds retry_after{1000};
  };
  worker(const queue_flags& where, const run_flags& how, const terms& t, program what);
  ~worker();
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  // Its exit code.
  int run();

 private:
  using clock = loop::clock;
  struct job;
  struct failed_item {
    queue_claim claim;
    clock::time_point until;
  };

  clock::time_point on_turn();
  void on_signal(int s);

  void take();
  void ask();
  // There may be something to take now, whatever an answer to an earlier question says.
  void stir();
  void came(error_code ec, std::optional<queue_claim> claim);
  void begin(queue_claim claim);
  void cannot_run(const failure& why);
  // The command with this item in its arguments; none if it cannot be an argument.
  std::optional<program> program_for(const std::string& item) const;
  clock::time_point look_after(job& j);
  void ended(job& j);
  void complete(queue_claim claim);
  void completed(const std::string& name, error_code ec);
  void not_done(queue_claim claim, const std::string& why);
  clock::time_point give_back_what_is_due();

  // Takes no more; ends with this code when what runs has ended.
  void stop(int code);
  bool nothing_left() const;
  int code_at_the_end() const;
  void say(const std::string& what) const;

  queue_flags where_;
  terms terms_;
  run_flags how_;
  program what_;
  std::string path_;
  loop loop_;  // before the first thread, which the connection makes
  connection connection_;
  subscription session_events_;
  std::optional<queue> queue_;
  std::size_t asked_ = 0;  // claims that are on their way
  std::size_t stirred_ = 0;
  std::size_t begun_ = 0;       // commands, in all
  std::size_t completing_ = 0;  // items
  std::list<job> jobs_;
  std::list<failed_item> failed_;
  std::set<std::string> not_completed_;                // names; of a worker that ends by itself
  std::set<std::string> given_back_;                   // and not come again yet
  clock::time_point given_back_at_;                    // the last of them
  int failures_ = 0;                                   // one after another
  clock::time_point next_ = clock::time_point::min();  // nothing is taken before
  bool empty_ = false;                                 // there was nothing to take
  bool complained_ = false;                            // about the connection
  std::optional<int> code_;                            // it is ending, with this
};

}  // namespace conclave::cli
