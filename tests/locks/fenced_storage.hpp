// What a lock protects: storage that keeps the highest fencing token it has seen and refuses
// writes with a lower one. A server on loopback, in the process of the test; writers are anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "checkers/fenced_resource.hpp"
#include "integration/harness.hpp"

namespace conclave::testing {

struct storage_write {
  int writer = 0;
  std::int64_t token = 0;
  bool accepted = false;
  bool answered = true;  // otherwise the writer waits until answer_again()
};

class fenced_storage {
 public:
  fenced_storage();
  ~fenced_storage();
  fenced_storage(const fenced_storage&) = delete;
  fenced_storage& operator=(const fenced_storage&) = delete;

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  // The next write of this writer, others being skipped; nothing if none comes.
  std::optional<storage_write> next_of(int writer);
  std::optional<storage_write> next() { return writes_.take(); }
  std::size_t pending() const { return writes_.size(); }  // writes that next() would give at once
  std::size_t refused() const;
  // Who wrote last: with little doubt the present holder.
  int last_writer() const;
  // From now on writers wait for their answers, and so hold what they hold, until answer_again().
  void withhold_answers();
  void answer_again();

 private:
  struct visit;
  void accept();
  void read(std::shared_ptr<visit> v);
  void answer(const std::shared_ptr<visit>& v);
  void write(const std::shared_ptr<visit>& v);

  inbox<storage_write> writes_;
  mutable std::mutex mutex_;
  checkers::fenced_resource resource_;
  int last_writer_ = 0;
  bool withholds_answers_ = false;
  std::vector<std::shared_ptr<visit>> unanswered_;
  boost::asio::io_context io_{1};
  boost::asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

// A writer's side. Throws if the storage cannot be reached.
class storage_link {
 public:
  storage_link(std::uint16_t port, int writer);
  bool write(std::int64_t token);  // whether it was accepted

 private:
  int writer_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
};

}  // namespace conclave::testing
