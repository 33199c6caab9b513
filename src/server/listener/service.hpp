// A running server: doors, links, the core and its store, all on the thread that calls run().
//
// It works in turns. A turn takes in everything that is ready, hands it to the core, writes what
// changed in one commit, and only then sends what came out. While a commit runs, requests gather in
// their sockets and share the next one; a lone request pays one commit and no thread hop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
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
#include "server/listener/folder_watch.hpp"
#include "server/listener/log_limit.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {

// Beyond what a store is for the core.
struct storage {
  std::unique_ptr<store> backend;
  // Writes a copy to a new file; throws store_error.
  std::function<void(const std::filesystem::path&)> backup;
  // Throws store_error once the folder is not the store's any more.
  std::function<void()> check_folder;
  std::string notice;  // for the log, at the start; empty: none
};

class service {
 public:
  // Opens everything; throws std::runtime_error (store_error, conclave::error) that says what is
  // wrong.
  service(server_options options, storage where);
  ~service();

  // Until stop() is called or it was idle for long enough. Throws store_error if the disk fails:
  // then nothing more was acknowledged.
  void run();
  // From any thread.
  void stop();
  // From any thread: for connections that are accepted from now on. Throws conclave::error, and
  // changes nothing, if the files cannot be used.
  void set_tls(const server_tls_options& options);

  // As clients write them.
  const std::vector<std::string>& addresses() const noexcept { return addresses_; }

 private:
  using connection_ptr = std::shared_ptr<client_connection>;
  using clock = std::chrono::steady_clock;

  core_options make_core_options() const;
  void begin_turn();
  void end_turn();
  void commit();
  void handle_disk_full(const std::string& why);
  void retry_disk();

  void open_acceptors();
  void wait_to_accept(acceptor& a);
  void accept_connections(acceptor& a);
  void add_connection(std::unique_ptr<acceptor::accepted_connection> accepted,
                      acceptor::transport through);
  bool close_oldest_pending(const std::string& network = {});
  bool must_refuse_new_session(const client_connection& c, std::string_view connect_frame) const;

  void wait_to_read(const connection_ptr& c);
  void wait_to_write(const connection_ptr& c);
  void read(const connection_ptr& c);
  void process_input(const connection_ptr& c, std::string_view bytes);
  void send(const connection_ptr& c, std::string& bytes);
  void resume_reading(const connection_ptr& c);
  void drop(const connection_ptr& c, const char* why);
  void disconnect(const connection_ptr& c);
  void enter(client_connection& c, client_connection::phase next);

  void arm_timer();
  void run_periodic_checks();
  void log(log_level level, const std::string& text) const;
  void log_tls_failure(const client_connection& c);

  // words.cpp
  // Whether these first bytes are one, or may become one.
  bool handle_four_letter_word(const connection_ptr& c, std::string_view bytes);
  std::string reply_to(const client_connection& from, std::string_view request);
  std::string run_command(std::string_view word);
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
    // From the arrival of requests to their answers, by turns.
    std::uint64_t turns = 0;
    std::chrono::microseconds min_time{0}, max_time{0}, total_time{0};
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
  std::unique_ptr<folder_watch> folder_watch_;  // none: nothing is kept on disk
  log_limit tls_failures_{std::chrono::seconds{1}};

  std::vector<acceptor> acceptors_;
  std::vector<std::string> addresses_;
  std::unordered_map<connection_id, connection_ptr> connections_;
  std::unique_ptr<admission> admission_;
  std::list<connection_ptr> pending_handshakes_;  // not greeted yet, the oldest first
  // Processes of sessions that lost their connections, and may come back for them.
  struct watched_process {
    connection_id last_connection;
    process_watch process;
  };
  std::unordered_map<std::int64_t, watched_process> watched_processes_;
  std::vector<std::pair<connection_ptr, std::string>>
      pending_words_;  // four-letter words of this turn
  std::vector<std::int64_t>
      ended_while_disk_full_;         // sessions whose processes ended while the disk was full
  std::size_t unsent_bytes_ = 0;      // by all links
  std::size_t new_output_bytes_ = 0;  // added to it by this turn
  connection_id last_id_ = 0;
  std::vector<char> read_buffer_;  // what arrives is looked at before the next read

  clock::time_point turn_began_;
  clock::time_point turn_deadline_ =
      clock::time_point::max();  // the next turn begins then at the latest
  bool in_turn_ = false;
  int turns_without_expiry_ = 0;   // turns to come in which nobody expires
  bool accepting_paused_ = false;  // descriptors have run out
  bool disk_full_ = false;
  clock::time_point next_check_;
  clock::time_point idle_since_;
  clock::time_point started_ = clock::now();
  std::atomic<bool> stopping_ = false;
  statistics statistics_;
};

}  // namespace conclave::server_impl
