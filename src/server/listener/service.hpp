// A running server: acceptors, connections, the core and its store, all on the thread that calls
// run().
//
// The service works in turns. A turn reads all input that is ready, passes it to the core, stores
// all changes in one commit, and only then sends the replies. Requests that arrive during a commit
// share the next commit. A single request costs one commit and no thread switch.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "conclave/server_options.hpp"
#include "server/core/admission.hpp"
#include "server/core/core.hpp"
#include "server/listener/acceptor.hpp"
#include "server/listener/client_connection.hpp"
#include "server/listener/ended_nodes.hpp"
#include "server/listener/folder_watch.hpp"
#include "server/listener/free_memory_trimmer.hpp"
#include "server/listener/log_limit.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {

// A store, and the operations on it that only the service needs.
struct storage {
  std::unique_ptr<store> backend;
  // Writes a copy to a new file. Throws store_error. Empty if the store is only in memory.
  std::function<void(const std::filesystem::path&)> backup;
  // Throws store_error if the data folder was removed, moved or replaced. Empty if the store is
  // only in memory.
  std::function<void()> check_folder;
  // Frees some of the unused disk space, in one short step. Returns true if there is more. Throws
  // store_error. Empty if the store is only in memory.
  std::function<bool()> shrink;
  struct disk_figures {
    disk_usage files;
    duration_histogram flushes;
  };
  // Empty if the store is only in memory.
  std::function<disk_figures()> usage;
  std::string notice;  // logged when the service starts, unless empty
};

class service {
 public:
  // Loads the store and opens all acceptors. Throws std::runtime_error, store_error or
  // conclave::error.
  service(server_options options, storage opened);
  ~service();

  // Runs until stop() is called or the idle limit is reached. Throws store_error if the disk fails.
  // In this case, no change of the failed commit is acknowledged.
  void run();
  // Thread-safe.
  void stop();
  // Thread-safe. Applies to connections that are accepted later. If the files cannot be used,
  // throws conclave::error and changes nothing.
  void set_tls(const server_tls_options& options);

  // Returns the addresses of all acceptors, in the form of connect strings.
  const std::vector<std::string>& addresses() const noexcept { return addresses_; }

 private:
  using connection_ptr = std::shared_ptr<client_connection>;
  using clock = std::chrono::steady_clock;

  static moment now();
  core_options make_core_options();
  void begin_turn();
  void end_turn();
  void commit();
  void handle_disk_full(const std::string& why);
  void retry_disk();
  void arm_timer();
  void run_periodic_checks();
  void return_unused_space();
  void log(log_level level, const std::string& text) const;

  // connections.cpp
  void open_acceptors();
  void wait_to_accept(acceptor& a);
  void accept_connections(acceptor& a);
  void add_connection(std::unique_ptr<acceptor::accepted_connection> accepted,
                      acceptor::transport through);
  bool close_oldest_pending(const peer_id* of = nullptr);
  bool must_refuse_new_session(const client_connection& c, std::string_view connect_frame) const;

  void wait_to_read(const connection_ptr& c);
  void wait_to_write(const connection_ptr& c);
  void read(const connection_ptr& c);
  void process_input(const connection_ptr& c, std::string_view bytes);
  void send(const connection_ptr& c, std::string& bytes);
  void resume_reading(const connection_ptr& c);
  void drop(const connection_ptr& c, client_fault why);
  void disconnect(const connection_ptr& c);
  void enter(client_connection& c, client_connection::phase next);
  void log_client(client_fault what, log_level level, std::string text);
  void log_tls_failure(const client_connection& c);

  // --- in four_letter_words.cpp

  // Returns true if `bytes` are a four-letter word or the beginning of one.
  bool handle_four_letter_word(const connection_ptr& c, std::string_view bytes);
  void answer_words();
  std::string reply_to(const client_connection& from, std::string_view request);
  std::string run_command(std::string_view word);
  bool answers(const client_connection& from, std::string_view word) const;
  std::string backup_to(std::string_view path);
  std::string metrics() const;
  std::string summary() const;
  std::string connection_list(bool long_form) const;
  std::string session_list() const;
  std::string configuration() const;

  struct statistics {
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    std::uint64_t commits = 0;
    std::uint64_t dropped_slow = 0;
    std::uint64_t rejected = 0;
    // Duration of turns, from the first input to the last reply.
    std::uint64_t turns = 0;
    std::chrono::microseconds min_time{0}, max_time{0}, total_time{0};
    duration_histogram turn_times, commit_times;
  };

  server_options options_;
  storage storage_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  boost::asio::steady_timer timer_{io_};
  clock::time_point timer_set_for_ = clock::time_point::max();
  std::unique_ptr<core> core_;
  std::unique_ptr<tls::tls_server_settings> tls_;
  std::unique_ptr<folder_watch> folder_watch_;  // null if nothing is on disk
  client_log_limits client_log_limits_;

  std::vector<acceptor> acceptors_;
  std::vector<std::string> addresses_;
  std::unordered_map<connection_id, connection_ptr> connections_;
  std::unique_ptr<admission> admission_;
  std::list<connection_ptr> pending_handshakes_;  // the oldest first
  // The processes of process-bound sessions that have lost their connection. If such a process
  // exits before it has reconnected, its session ends.
  struct watched_process {
    connection_id last_connection;
    process_watch process;
  };
  std::unordered_map<std::int64_t, watched_process> watched_processes_;
  // Four-letter words received in this turn. They are answered after the turn's commit.
  std::vector<std::pair<connection_ptr, std::string>> pending_words_;
  ended_nodes ended_nodes_;
  // Words whose replies can be large. One of them is answered in each turn.
  std::deque<std::pair<connection_ptr, std::string>> slow_words_;
  // Sessions whose processes exited while the disk was full.
  std::vector<std::int64_t> ended_while_disk_full_;
  std::size_t unsent_bytes_ = 0;      // sum of all connections
  std::size_t new_output_bytes_ = 0;  // output of this turn that unsent_bytes_ does not include yet
  connection_id last_id_ = 0;
  // Shared by all connections, because its content is processed before the next read.
  std::vector<char> read_buffer_;

  clock::time_point turn_began_;
  // The latest time at which the next turn is expected to begin.
  clock::time_point turn_deadline_ = clock::time_point::max();
  bool in_turn_ = false;
  int turns_without_expiry_ = 0;  // number of coming turns in which no session expires
  // What the service returns to the system next when it is at rest: first unused memory, then
  // unused disk space, then nothing. After new commits, it begins with memory again.
  enum class upkeep { none, memory, disk };
  upkeep upkeep_ = upkeep::memory;
  int checks_at_rest_ = 0;  // consecutive periodic checks with few commits
  std::uint64_t commits_at_check_ = 0;
  free_memory_trimmer memory_;
  bool accepting_paused_ = false;  // true while no descriptors are left
  clock::time_point next_check_;
  clock::time_point idle_since_;
  clock::time_point started_ = clock::now();
  std::atomic<bool> stopping_ = false;
  statistics statistics_;
};

}  // namespace conclave::server_impl
