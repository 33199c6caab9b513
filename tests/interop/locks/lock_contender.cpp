// Contends for a lock in its own process. The Java and the Python program in this folder have the
// same command line and write the same history.
//
//   lock_contender CONNECT PATH KINDS LAYOUT CYCLES HOLD HISTORY COUNTER SESSION_MS
//
//   KINDS    separated by commas, one contender with its own session for each: mutex, read, write,
//            semaphore:N, leader (of an election)
//   LAYOUT   curator, kazoo, zookeeper; for elections also election, leader_latch
//   CYCLES   0: does not contend, but writes the ids of all candidates of an election to COUNTER,
//   as
//            the library returns them, one per line, the leader first
//   HOLD     holds the lock for a random time of at most this many milliseconds, or `forever`;
//   every
//            second time it waits for such a time before it contends again, so that the wait queue
//            is sometimes empty
//   HISTORY  gets two lines for each hold, each with CLOCK_MONOTONIC in nanoseconds:
//              acquired CONTENDER exclusive|shared|lease NANOSECONDS FENCING_TOKEN
//              released CONTENDER NANOSECONDS
//            the first after the acquisition, the second before the release
//   COUNTER  a file with a number: exclusive holders increment it without synchronization, so that
//            an overlap can lose an increment; shared holders check that it does not change
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/election.hpp"
#include "conclave/mutex.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"

namespace conclave::testing {
namespace {

struct arguments {
  std::string connect;
  std::string path;
  std::vector<std::string> kinds;
  std::string layout;
  int cycles{0};
  std::string hold;
  std::string history;
  std::string counter;
  std::chrono::milliseconds session_timeout{0};
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

layout layout_named(std::string_view name) {
  if (name == "curator") return layout::curator();
  if (name == "kazoo") return layout::kazoo();
  if (name == "zookeeper") return layout::zookeeper();
  if (name == "election") return layout::election();
  if (name == "leader_latch") return layout::leader_latch();
  throw std::invalid_argument{"unknown layout"};
}

// The common interface of all kinds of locks.
struct contended {
  std::string mode;
  std::function<void()> acquire;
  std::function<std::int64_t()> token;
  std::function<void()> release;
};

template <class Lock>
auto make_on(client& zk, const arguments& args) {
  lock_options options;
  options.layout = layout_named(args.layout);
  return std::make_shared<Lock>(zk, args.path, options);
}

std::shared_ptr<election> make_election(client& zk, const arguments& args,
                                        const std::string& number) {
  election_options options;
  options.layout = layout_named(args.layout);
  options.id = "conclave-" + number;
  return std::make_shared<election>(zk, args.path, options);
}

contended make_lock(client& zk, const arguments& args, std::size_t number) {
  const auto& kind = args.kinds[number];
  const std::string_view semaphores = "semaphore:";
  if (kind == "leader") {
    const auto e = make_election(zk, args, std::to_string(number));
    return {"exclusive", [e] { e->campaign(); }, [e] { return e->fencing_token(); },
            [e] { e->resign(); }};
  }
  if (kind == "mutex") {
    const auto m = make_on<mutex>(zk, args);
    return {"exclusive", [m] { m->lock(); }, [m] { return m->hold().fencing_token(); },
            [m] { m->unlock(); }};
  }
  if (kind == "write") {
    const auto m = make_on<shared_mutex>(zk, args);
    return {"exclusive", [m] { m->lock(); }, [m] { return m->hold().fencing_token(); },
            [m] { m->unlock(); }};
  }
  if (kind == "read") {
    const auto m = make_on<shared_mutex>(zk, args);
    return {"shared", [m] { m->lock_shared(); }, [m] { return m->shared_hold().fencing_token(); },
            [m] { m->unlock_shared(); }};
  }
  if (kind.starts_with(semaphores)) {
    const auto s =
        std::make_shared<semaphore>(zk, args.path, std::stoul(kind.substr(semaphores.size())));
    return {"lease", [s] { s->acquire(); }, [s] { return s->hold().fencing_token(); },
            [s] { s->release(); }};
  }
  throw std::invalid_argument{"unknown kind: " + kind};
}

class history {
 public:
  explicit history(const std::string& file)
      : fd_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
    if (fd_ < 0) throw std::runtime_error{"cannot open " + file};
  }
  // In one write and without buffering, because a reader may wait for this line.
  void add(std::string line) const {
    line += '\n';
    if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      throw std::runtime_error{"cannot write the history"};
  }

 private:
  int fd_;
};

std::string now() {
  return std::to_string(
      std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count());
}

long read_counter(const std::string& file) {
  long value = 0;
  std::ifstream{file} >> value;
  return value;
}

void stay(const std::string& hold) {
  if (hold == "forever")
    for (;;) ::pause();
  thread_local std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> microseconds{0, std::stoi(hold) * 1000};
  std::this_thread::sleep_for(std::chrono::microseconds{microseconds(random)});
}

void use(const std::string& mode, const arguments& args) {
  const auto count = read_counter(args.counter);
  stay(args.hold);
  if (mode == "exclusive")
    std::ofstream{args.counter, std::ios::in} << count + 1;  // in: the file is not truncated first
  else if (mode == "shared" && read_counter(args.counter) != count)
    throw std::runtime_error{"a writer worked while a reader read"};
}

void contend(const arguments& args, std::size_t number, const history& log) {
  client_options options;
  options.session_timeout = args.session_timeout;
  client zk{args.connect, options};
  if (args.cycles == 0) {
    std::ofstream out{args.counter};
    for (const auto& each : make_election(zk, args, "asks")->candidates())
      out << each.owner << '\n';
    return;
  }
  const auto lock = make_lock(zk, args, number);
  const auto me = std::to_string(number);
  for (int i = 0; i < args.cycles; ++i) {
    lock.acquire();
    const auto acquired = now();
    log.add("acquired " + me + ' ' + lock.mode + ' ' + acquired + ' ' +
            std::to_string(lock.token()));
    use(lock.mode, args);
    log.add("released " + me + ' ' + now());
    lock.release();
    if (i % 2 == 0) stay(args.hold);
  }
}

int run(const arguments& args) {
  const history log{args.history};
  std::vector<std::future<void>> all;
  for (std::size_t i = 0; i < args.kinds.size(); ++i)
    all.push_back(std::async(std::launch::async, [&, i] { contend(args, i, log); }));
  for (auto& one : all) one.get();
  return 0;
}

}  // namespace
}  // namespace conclave::testing

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv + 1, argv + argc};
  if (words.size() != 9) {
    std::cerr << "usage: lock_contender CONNECT PATH KINDS LAYOUT CYCLES HOLD HISTORY COUNTER "
                 "SESSION_MS\n";
    return 64;
  }
  try {
    return conclave::testing::run({words[0], words[1], conclave::testing::split(words[2]), words[3],
                                   std::stoi(words[4]), words[5], words[6], words[7],
                                   std::chrono::milliseconds{std::stoi(words[8])}});
  } catch (const std::exception& e) {
    std::cerr << "lock_contender: " << e.what() << '\n';
    return 1;
  }
}
