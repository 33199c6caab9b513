#include "zookeeper_ensemble.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "four_letter_word.hpp"
#include "free_port.hpp"

namespace conclave::testing {
namespace {

using namespace std::chrono_literals;

constexpr int port_attempts = 5;

}  // namespace

zookeeper_ensemble::zookeeper_ensemble(const zookeeper_options& options, std::size_t size) {
  for (int attempt = 1;; ++attempt) {
    draw_ports_and_launch(options, size);
    try {
      wait_for_quorum();
      return;
    } catch (const std::runtime_error&) {
      if (attempt == port_attempts || !any_port_taken()) throw;
    }
  }
}

void zookeeper_ensemble::draw_ports_and_launch(const zookeeper_options& options, std::size_t size) {
  members_.clear();
  const auto ports = free_ports(4 * size);
  std::map<std::string, std::string> membership;
  for (std::size_t i = 0; i < size; ++i) {
    membership["server." + std::to_string(i + 1)] =
        "127.0.0.1:" + std::to_string(ports[4 * i]) + ":" + std::to_string(ports[4 * i + 1]);
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint16_t secure_port = options.tls ? ports[4 * i + 3] : std::uint16_t{0};
    // The constructor is private, out of std::make_unique's reach.
    members_.emplace_back(new zookeeper_server(options, static_cast<int>(i) + 1, membership,
                                               ports[4 * i + 2], secure_port));
  }
  for (auto& member : members_) member->launch();
}

std::string zookeeper_ensemble::connect_string() const {
  std::string text;
  for (const auto& member : members_) text += (text.empty() ? "" : ",") + member->connect_string();
  return text;
}

std::string zookeeper_ensemble::secure_connect_string() const {
  std::string text;
  for (const auto& member : members_)
    text += (text.empty() ? "" : ",") + member->secure_connect_string();
  return text;
}

std::optional<std::size_t> zookeeper_ensemble::leader() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->running() && server_mode(members_[i]->port(), 500ms) == "leader") return i;
  }
  return std::nullopt;
}

void zookeeper_ensemble::start_again(std::size_t index) { server(index).launch(); }

std::size_t zookeeper_ensemble::wait_for_quorum(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    std::size_t running = 0;
    std::size_t followers = 0;
    std::vector<std::size_t> leaders;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i]->running()) continue;
      ++running;
      const std::string mode = members_[i]->mode_while_starting();
      if (mode == "leader") leaders.push_back(i);
      if (mode == "follower") ++followers;
    }
    const std::size_t majority = members_.size() / 2 + 1;
    if (leaders.size() == 1 && running >= majority && followers == running - 1)
      return leaders.front();

    if (any_port_taken()) members_.front()->fail("and its ensemble found a port taken");
    if (running < majority)
      members_.front()->fail("is in an ensemble of which too few members run");
    if (std::chrono::steady_clock::now() > deadline)
      members_.front()->fail("is in an ensemble that finds no quorum");
    std::this_thread::sleep_for(10ms);
  }
}

bool zookeeper_ensemble::any_port_taken() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member->found_port_taken(); });
}

}  // namespace conclave::testing
