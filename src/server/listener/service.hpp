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
#include "server/listener/door.hpp"
#include "server/listener/folder_watch.hpp"
#include "server/listener/link.hpp"
#include "server/listener/log_limit.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {

// Beyond what a store is for the core.
struct storage {
  std::unique_ptr<store> keeps;
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
  using link_ptr = std::shared_ptr<link>;
  using clock = std::chrono::steady_clock;

  core_options options_for_core() const;
  void begin_turn();
  void end_turn();
  void commit();
  void disk_is_full(const std::string& why);
  void try_disk_again();

  void open_doors();
  void wait_at(door& d);
  void come_in(door& d);
  void welcome(std::unique_ptr<door::guest> g, door::kind through);
  bool make_room(const std::string& network = {});
  bool begins_a_session_too_many(const link& l, std::string_view greeting) const;

  void wait_to_read(const link_ptr& l);
  void wait_to_write(const link_ptr& l);
  void read(const link_ptr& l);
  void take_in(const link_ptr& l, std::string_view bytes);
  void send(const link_ptr& l, std::string& bytes);
  void listen_again(const link_ptr& l);
  void drop(const link_ptr& l, const char* why);
  void hang_up(const link_ptr& l);
  void leave_waiting_room(link& l);

  void wake_up_in_time();
  void look_around();
  void log(log_level level, const std::string& text) const;
  void log_tls_failure(const link& l);

  // words.cpp
  // Whether these first bytes are one, or may become one.
  bool is_word(const link_ptr& l, std::string_view bytes);
  std::string answer_to(const link& from, std::string_view question);
  std::string answer(std::string_view word);
  std::string backup_to(std::string_view path);
  std::string figures() const;
  std::string summary() const;
  std::string connection_list(bool long_form) const;
  std::string session_list() const;
  std::string configuration() const;

  struct counts {
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    std::uint64_t commits = 0;
    std::uint64_t dropped_slow = 0;
    std::uint64_t rejected = 0;
    // From the arrival of requests to their answers, by turns.
    std::uint64_t turns = 0;
    std::chrono::microseconds shortest{0}, longest{0}, all{0};
  };

  server_options options_;
  storage store_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  boost::asio::steady_timer timer_{io_};
  clock::time_point timer_set_for_ = clock::time_point::max();
  std::unique_ptr<core> core_;
  std::unique_ptr<tls::tls_server_settings> tls_;
  std::unique_ptr<folder_watch> folder_watch_;  // none: nothing is kept on disk
  log_limit tls_failures_{std::chrono::seconds{1}};

  std::vector<door> doors_;
  std::vector<std::string> addresses_;
  std::unordered_map<connection_id, link_ptr> links_;
  std::unique_ptr<admission> admission_;
  std::list<link_ptr> waiting_room_;  // not greeted yet, the oldest first
  // Processes of sessions that lost their connections, and may come back for them.
  struct absence {
    connection_id last_link;
    process_watch process;
  };
  std::unordered_map<std::int64_t, absence> absent_;
  std::vector<std::pair<link_ptr, std::string>> questions_;  // four-letter words of this turn
  std::vector<std::int64_t>
      ended_meanwhile_;     // sessions whose processes ended while the disk was full
  std::size_t unsent_ = 0;  // by all links
  std::size_t fresh_ = 0;   // added to it by this turn
  connection_id last_id_ = 0;
  std::vector<char> buffer_;  // what arrives is looked at before the next read

  clock::time_point turn_began_;
  clock::time_point due_ = clock::time_point::max();  // the next turn begins then at the latest
  bool in_turn_ = false;
  int listen_first_ = 0;     // turns to come in which nobody expires
  bool doors_shut_ = false;  // descriptors have run out
  bool disk_full_ = false;
  clock::time_point next_look_;
  clock::time_point idle_since_;
  clock::time_point started_ = clock::now();
  std::atomic<bool> stopping_ = false;
  counts counts_;
};

}  // namespace conclave::server_impl
