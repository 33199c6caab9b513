// Uses a queue in its own process. The Java and the Python program in this folder have the same
// command line and write the same history.
//
//   queue_user CONNECT PATH RECIPE ROLES PACE GATE HISTORY SESSION_MS
//
//   RECIPE   the layout of the nodes: zookeeper, curator, kazoo or kazoo_locking
//   ROLES    separated by commas, one user with its own session for each:
//              produce:NAME:COUNT[:PRIORITY]  pushes the items NAME-0, NAME-1, ...
//              consume    pops items until it gets one called `end`
//              hold       claims an item and keeps it (only kazoo_locking)
//              give-back  claims an item and releases it (only kazoo_locking)
//   PACE     after each item, a user waits for a random time of at most this many milliseconds, so
//            that all users get items
//   GATE     a pipe: users start when it is closed, so that processes that start slowly take part
//   HISTORY  gets a line for each of: ready (all users are connected), pushed ITEM, claimed ITEM,
//            popped ITEM, gave-back ITEM; all but the first are written after the call has returned
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/queue.hpp"

namespace conclave::testing {
namespace {

struct arguments {
  std::string connect;
  std::string path;
  std::string recipe;
  std::string roles;
  int pace{0};
  std::string gate;
  std::string history;
  std::chrono::milliseconds session_timeout{0};
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

queue_options options_for(const std::string& recipe) {
  queue_options options;
  if (recipe == "kazoo")
    options.layout = queue_layout::kazoo;
  else if (recipe == "kazoo_locking")
    options.layout = queue_layout::kazoo_locking;
  else if (recipe != "zookeeper" && recipe != "curator")
    throw std::invalid_argument{"unknown recipe: " + recipe};
  return options;
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

void stay_away(int pace) {
  thread_local std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> microseconds{0, pace * 1000};
  std::this_thread::sleep_for(std::chrono::microseconds{microseconds(random)});
}

class user {
 public:
  user(const arguments& args, std::string role, const history& log)
      : args_{args}, role_{split(role, ':')}, log_{log}, zk_{args.connect, client_settings(args)} {
    if (!zk_.wait_connected(std::chrono::seconds{20})) throw std::runtime_error{"no connection"};
  }

  void run() {
    if (role_[0] == "produce")
      produce();
    else if (role_[0] == "consume")
      consume();
    else if (role_[0] == "hold")
      hold();
    else if (role_[0] == "give-back")
      release();
    else
      throw std::invalid_argument{"unknown role: " + role_[0]};
  }

 private:
  static client_options client_settings(const arguments& args) {
    client_options options;
    options.session_timeout = args.session_timeout;
    return options;
  }

  void produce() {
    const auto count = std::stoi(role_.at(2));
    const auto priority = role_.size() > 3 ? std::stoi(role_[3]) : default_priority;
    for (int i = 0; i < count; ++i) {
      const auto item = role_[1] + '-' + std::to_string(i);
      queue_.push(item, priority);
      log_.add("pushed " + item);
      stay_away(args_.pace);
    }
  }

  void consume() {
    for (;;) {
      const auto item = args_.recipe == "kazoo_locking" ? claim_and_complete() : queue_.pop().data;
      log_.add("popped " + item);
      if (item == "end") return;
      stay_away(args_.pace);
    }
  }

  std::string claim_and_complete() {
    auto job = queue_.claim();
    log_.add("claimed " + job.data());
    stay_away(args_.pace);
    job.complete();
    return job.data();
  }

  void hold() {
    const auto job = queue_.claim();
    log_.add("claimed " + job.data());
    for (;;) ::pause();
  }

  void release() {
    auto job = queue_.claim();
    log_.add("claimed " + job.data());
    const auto item = job.data();
    job.release();
    log_.add("gave-back " + item);
  }

  const arguments& args_;
  std::vector<std::string> role_;
  const history& log_;
  client zk_;
  queue queue_{zk_, args_.path, options_for(args_.recipe)};
};

void run(const arguments& args) {
  const history log{args.history};
  std::vector<std::unique_ptr<user>> users;
  for (const auto& role : split(args.roles, ','))
    users.push_back(std::make_unique<user>(args, role, log));
  std::ifstream gate{args.gate};  // opened before the pipe can be closed
  log.add("ready");
  std::string(std::istreambuf_iterator<char>{gate}, {});
  std::vector<std::future<void>> all;
  for (const auto& u : users)
    all.push_back(std::async(std::launch::async, [&one = *u] { one.run(); }));
  for (auto& one : all) one.get();
}

}  // namespace
}  // namespace conclave::testing

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv + 1, argv + argc};
  if (words.size() != 8) {
    std::cerr << "usage: queue_user CONNECT PATH RECIPE ROLES PACE GATE HISTORY SESSION_MS\n";
    return 64;
  }
  try {
    conclave::testing::run({words[0], words[1], words[2], words[3], std::stoi(words[4]), words[5],
                            words[6], std::chrono::milliseconds{std::stoi(words[7])}});
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "queue_user: " << e.what() << '\n';
    return 1;
  }
}
