#include "cli/doctor/host_facts.hpp"

#include <signal.h>

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <thread>

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// A healthy server answers at once. A silent one must not use up the whole time.
constexpr auto answer_limit = 2s;

// The rest of the line that begins with `head`.
std::string line_of(const std::string& text, const std::string& head) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(head)) return line.substr(head.size());
  return {};
}

bool is_refusal(const std::string& answer) {
  return answer.find("is not executed because") != std::string::npos;
}

class host_examination {
 public:
  host_examination(endpoint at, std::optional<tls_options> tls, deadline until)
      : tls_{std::move(tls)}, until_{until} {
    facts_.at = std::move(at);
    if (!facts_.at.socket_path.empty()) tls_.reset();
  }

  host_facts run() {
    addresses_ = resolve(facts_.at, facts_.problem);
    if (const auto begin = steady::now(); auto first = connect()) {
      facts_.connect_time = steady::now() - begin;
      facts_.problem = {};
      if (tls_ && !(facts_.tls = first->start_tls(*tls_, facts_.at.host, until_, facts_.problem)))
        return facts_;
      read_srvr(first->query("srvr", reply_deadline()));
      if (facts_.reply != srvr_reply::none) query_rest();
    }
    return facts_;
  }

 private:
  deadline reply_deadline() const { return std::min(until_, steady::now() + answer_limit); }

  std::optional<raw_connection> connect() {
    for (const auto& a : addresses_)
      if (auto c = raw_connection::to(a, until_, facts_.problem)) {
        facts_.address = a.text;
        return c;
      }
    return {};
  }

  std::string query(const char* word) {
    auto c = connect();
    if (!c || (tls_ && !c->start_tls(*tls_, facts_.at.host, until_, ignored_))) return {};
    auto answer = c->query(word, reply_deadline());
    return is_refusal(answer) ? std::string{} : answer;
  }

  void read_srvr(const std::string& answer) {
    const auto version = line_of(answer, "Zookeeper version: ");
    facts_.version = version.substr(0, version.find(','));
    facts_.mode = line_of(answer, "Mode: ");
    if (answer.empty())
      facts_.reply = srvr_reply::none;
    else if (answer.find("not currently serving requests") != std::string::npos)
      facts_.reply = srvr_reply::not_serving;
    else if (version.empty() && !is_refusal(answer))
      facts_.reply = srvr_reply::not_zookeeper;
    if (const auto zxid = line_of(answer, "Zxid: 0x"); !zxid.empty())
      std::from_chars(zxid.data(), zxid.data() + zxid.size(), facts_.zxid, 16);
  }

  void query_rest() {
    std::istringstream lines{query("mntr")};
    for (std::string line; std::getline(lines, line);)
      if (const auto tab = line.find('\t'); tab != std::string::npos)
        facts_.figures[line.substr(0, tab)] = line.substr(tab + 1);
    // The identity is the same for all names of one server.
    const auto conf = query("conf");
    facts_.data_folder = line_of(conf, "dataDir=");
    facts_.reports_data_folder = conf.find("dataDir=") != std::string::npos;
    const auto machine = line_of(query("envi"), "host.name=");
    if (!conf.empty() && !machine.empty()) facts_.identity = machine + "\n" + conf;
    facts_.problem = {};
  }

  std::optional<tls_options> tls_;
  const deadline until_;
  std::vector<socket_address> addresses_;
  host_facts facts_;
  connect_problem ignored_;
};

// Shared with threads that may outlive this function, because a resolver call cannot be
// interrupted.
struct results {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<host_facts>> of;
  std::size_t missing = 0;
};

}  // namespace

std::int64_t host_facts::figure(const std::string& name) const {
  const auto found = figures.find(name);
  std::int64_t n = 0;
  if (found != figures.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), n);
  return n;
}

std::vector<host_facts> examine_hosts(const std::vector<endpoint>& hosts,
                                      const std::optional<tls_options>& tls, deadline until) {
  const auto shared = std::make_shared<results>();
  shared->of.resize(hosts.size());
  shared->missing = hosts.size();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    threads.emplace_back([shared, i, e = host_examination{hosts[i], tls, until}]() mutable {
      // OpenSSL writes without MSG_NOSIGNAL.
      sigset_t pipe;
      ::sigemptyset(&pipe);
      ::sigaddset(&pipe, SIGPIPE);
      ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      auto facts = e.run();
      const std::lock_guard lock{shared->mutex};
      shared->of[i] = std::move(facts);
      --shared->missing;
      shared->changed.notify_one();
    });
  std::unique_lock lock{shared->mutex};
  // Checks that end at the deadline store their result a moment later.
  shared->changed.wait_until(lock, until + 100ms, [&] { return shared->missing == 0; });
  std::vector<host_facts> all;
  std::vector<bool> finished;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    finished.push_back(shared->of[i].has_value());
    host_facts timed_out;
    timed_out.at = hosts[i];
    timed_out.problem = {"the lookup of '" + hosts[i].host + "' took too long",
                         "check the name server of this machine"};
    all.push_back(shared->of[i].value_or(std::move(timed_out)));
  }
  lock.unlock();
  // An ending thread still frees OpenSSL's data, which must not happen during our exit. So join it.
  for (std::size_t i = 0; i < hosts.size(); ++i)
    finished[i] ? threads[i].join() : threads[i].detach();
  return all;
}

}  // namespace conclave::cli
