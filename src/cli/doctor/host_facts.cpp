#include "cli/doctor/host_facts.hpp"

#include <charconv>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <thread>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// A healthy server answers at once. A silent server must not use up the whole time.
constexpr auto reply_limit = 2s;

// Returns the rest of the line that begins with `head`.
std::string line_of(const std::string& text, const std::string& head) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(head)) return line.substr(head.size());
  return {};
}

bool is_refusal(const std::string& answer) {
  return answer.find("is not executed because") != std::string::npos;
}

namespace sys = boost::system::errc;

// Why the connection was not established.
connect_problem connection_problem(const query_result& r, const endpoint& at) {
  if (r.error == boost::asio::error::host_not_found || r.error == boost::asio::error::no_data)
    return {"unknown host name '" + at.host + "'",
            "check the spelling; try: getent hosts " + at.host};
  if (r.error.category() == boost::asio::error::get_netdb_category() ||
      r.error.category() == boost::asio::error::get_addrinfo_category())
    return {"cannot look up '" + at.host + "': " + r.reason,
            "check the name server of this machine"};
  if (r.error == sys::connection_refused)
    return {"connection refused",
            at.socket_path.empty()
                ? "no process listens there; check that the server runs, and its port"
                : "its server has exited; start it again"};
  if (r.error == sys::timed_out)
    return {"no answer", "check the address, the machine and the firewalls"};
  if (r.error == sys::host_unreachable || r.error == sys::network_unreachable)
    return {"no route to the host", "check the address and the network"};
  if (r.error == sys::no_such_file_or_directory)
    return {"the socket does not exist", "check that the server runs; try: conclave serve"};
  if (r.error == sys::permission_denied || r.error == sys::operation_not_permitted)
    return {"no permission to use the socket", "it belongs to another user or group"};
  if (r.error == errc::tls_failed)
    return {r.reason, "check --tls-ca, --tls-cert, --tls-key and the password of the key"};
  return {r.reason, ""};
}

class host_examination {
 public:
  host_examination(endpoint at, std::optional<tls_options> tls, steady::time_point until)
      : until_{until} {
    facts_.at = std::move(at);
    options_.tls = std::move(tls);
    options_.reply_timeout = reply_limit;
  }

  host_facts run() {
    const auto first = query("srvr", options_);
    facts_.address = first.address;
    facts_.connect_time = first.connect_time;
    if (first.error) {
      facts_.problem =
          first.address.empty() ? connection_problem(first, facts_.at) : handshake_problem(first);
      return facts_;
    }
    facts_.tls = first.tls;
    read_srvr(first.reply);
    if (facts_.reply != srvr_reply::none) query_rest();
    return facts_;
  }

 private:
  query_result query(const char* word, query_options options) const {
    options.timeout = std::chrono::ceil<std::chrono::milliseconds>(until_ - steady::now());
    try {
      return query_server(facts_.at, word, options);
    } catch (const error& e) {
      query_result unusable;
      unusable.error = e.code();
      unusable.reason = e.what();
      return unusable;
    }
  }

  // The reply, or an empty string if the server does not answer this word.
  std::string reply_to(const char* word) const {
    auto reply = query(word, options_).reply;
    return is_refusal(reply) ? std::string{} : reply;
  }

  connect_problem handshake_problem(const query_result& r) const {
    const bool refused = r.tls && r.tls->valid_until == std::chrono::system_clock::time_point{};
    if (!refused)
      return {"TLS failed: " + r.reason,
              r.tls ? "the server may require a client certificate: --tls-cert and --tls-key"
                    : "check that this is the TLS port"};
    auto any_host = options_;
    any_host.tls->verify_host = false;
    if (options_.tls->verify_host && !query("srvr", any_host).error)
      return {"its certificate is for another host than '" + facts_.at.host + "'",
              "connect with the name in the certificate, or use --tls-any-host"};
    return {"its certificate is not trusted: " + r.reason,
            "pass the CA certificates of the servers with --tls-ca"};
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
    std::istringstream lines{reply_to("mntr")};
    for (std::string line; std::getline(lines, line);)
      if (const auto tab = line.find('\t'); tab != std::string::npos)
        facts_.figures[line.substr(0, tab)] = line.substr(tab + 1);
    // The identity is the same for all names of one server.
    const auto conf = reply_to("conf");
    facts_.data_folder = line_of(conf, "dataDir=");
    facts_.reports_data_folder = conf.find("dataDir=") != std::string::npos;
    const auto machine = line_of(reply_to("envi"), "host.name=");
    if (!conf.empty() && !machine.empty()) facts_.identity = machine + "\n" + conf;
  }

  const steady::time_point until_;
  query_options options_;
  host_facts facts_;
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
                                      const std::optional<tls_options>& tls,
                                      steady::time_point until) {
  const auto shared = std::make_shared<results>();
  shared->of.resize(hosts.size());
  shared->missing = hosts.size();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    threads.emplace_back([shared, i, e = host_examination{hosts[i], tls, until}]() mutable {
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
  // When a thread exits, it frees OpenSSL's data, which must not happen during our exit. So join
  // it.
  for (std::size_t i = 0; i < hosts.size(); ++i)
    finished[i] ? threads[i].join() : threads[i].detach();
  return all;
}

}  // namespace conclave::cli
