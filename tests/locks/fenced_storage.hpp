// Storage that a lock protects. It stores the highest fencing token and refuses writes with a lower
// one. It is a loopback server in the test's process, for writers in any process.
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
  bool answered = true;  // if false, the writer waits until answer_again()
};

class fenced_storage {
 public:
  fenced_storage();
  ~fenced_storage();
  fenced_storage(const fenced_storage&) = delete;
  fenced_storage& operator=(const fenced_storage&) = delete;

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  // Returns the next write of this writer and skips others. Returns nothing on a timeout.
  std::optional<storage_write> next_of(int writer);
  std::optional<storage_write> next() { return writes_.take(); }
  std::size_t pending() const { return writes_.size(); }  // writes that next() would return at once
  std::size_t refused() const;
  // The last writer, which is very likely the current holder.
  int last_writer() const;
  // Waits for the next write, and for more if the last writer is not a key of this map: the last
  // write of a killed process may arrive late. Returns the end of the map if no write follows.
  template <class Writers>
  auto find_last_writer(const Writers& writers) {
    auto found = writers.end();
    while (found == writers.end() && next()) found = writers.find(last_writer());
    return found;
  }
  // Lets writers wait for their replies, and so keep their locks, until answer_again().
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

// The writer's connection. Throws if the storage cannot be reached.
class storage_link {
 public:
  storage_link(std::uint16_t port, int writer);
  bool write(std::int64_t token);  // returns whether the write was accepted

 private:
  int writer_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
};

}  // namespace conclave::testing
