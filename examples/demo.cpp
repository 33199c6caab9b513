// The client at work: what `make demo` shows. The server's address is the first argument; the
// second is a command that kills the server and starts it again.
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <stdexcept>
#include <vector>

#include <boost/asio/use_future.hpp>

#include <conclave/client.hpp>

using namespace std::chrono_literals;

namespace {

void step(const char* text) { std::cout << "\n== " << text << "\n"; }

void nodes_and_watches(conclave::client& zk) {
  step("Nodes, versions, watches");
  zk.create("/config", "blue");
  std::promise<conclave::watch_event> changed;
  const auto [data, stat] =
      zk.get("/config", [&](const conclave::watch_event& e) { changed.set_value(e); });
  std::cout << "/config says '" << data << "', version " << stat.version << "\n";
  zk.set("/config", "green", stat.version);
  std::cout << "told: " << changed.get_future().get().path << " changed\n";
  try {
    zk.set("/config", "red", stat.version);
  } catch (const conclave::error& e) {
    std::cout << "a second writer with the old version: " << e.what() << "\n";
  }
}

void transactions(conclave::client& zk) {
  step("Transactions: all or nothing");
  try {
    zk.commit(conclave::transaction{}.create("/a").create("/b").remove("/missing"));
  } catch (const conclave::transaction_error& e) {
    std::cout << e.what() << "\n/a exists: " << (zk.exists("/a") ? "yes" : "no") << "\n";
  }
  const auto done =
      zk.commit(conclave::transaction{}.create("/a").create("/a/b").set("/config", "black"));
  std::cout << "three changes in transaction " << std::hex << "0x" << done.zxid << std::dec << "\n";
}

void pipelining(conclave::client& zk) {
  step("Pipelining: 2,000 creates without waiting in between");
  zk.create("/many");
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::future<conclave::create_result>> results;
  for (int i = 0; i < 2000; ++i)
    results.push_back(zk.async_create("/many/n-", "", conclave::create_mode::persistent_sequential,
                                      boost::asio::use_future));
  for (auto& r : results) r.get();
  const auto took = std::chrono::steady_clock::now() - begin;
  std::cout << "done in " << took / 1ms << " ms; their parent has "
            << zk.children("/many").stat.num_children << " children\n";
}

void outage(conclave::client& zk, const char* restart_server) {
  step("The server is killed and started again");
  std::promise<void> suspended;
  std::promise<void> back;
  const auto events = zk.on_session_event([&](const conclave::session_event& e) {
    std::cout << "session event: " << to_string(e.type) << "\n";
    if (e.type == conclave::session_event::kind::suspended) suspended.set_value();
    if (e.type == conclave::session_event::kind::reconnected) back.set_value();
  });
  zk.create("/mine", "", conclave::create_mode::ephemeral);
  const auto session = zk.session_id();
  std::promise<conclave::watch_event> told;
  zk.get("/mine", [&](const conclave::watch_event& e) { told.set_value(e); });
  std::cout << "the server cannot expire us for another "
            << (zk.session_deadline() - conclave::boot_clock::now()) / 1s << " s\n";
  if (std::system(restart_server) != 0) throw std::runtime_error{"the server was not restarted"};
  suspended.get_future().get();
  if (back.get_future().wait_for(60s) != std::future_status::ready)
    throw std::runtime_error{"the server did not come back"};
  std::cout << "same session: " << (zk.session_id() == session ? "yes" : "no")
            << ", our ephemeral node is there: " << (zk.exists("/mine") ? "yes" : "no") << "\n";
  zk.set("/mine", "x");
  told.get_future().get();
  std::cout << "the watch we had left survived the restart, too\n";
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: demo HOST:PORT RESTART-COMMAND\n";
    return 64;
  }
  conclave::client zk{argv[1]};
  if (!zk.wait_connected(20s)) {
    std::cerr << "demo: cannot reach " << argv[1] << "; is the server running?\n";
    return 69;
  }
  std::cout << "Connected to a real Apache ZooKeeper at " << argv[1] << ", session timeout "
            << zk.session_timeout().count() << " ms.\n";
  nodes_and_watches(zk);
  transactions(zk);
  pipelining(zk);
  outage(zk, argv[2]);
  std::cout << "\nDone.\n";
} catch (const std::exception& e) {
  std::cerr << "demo: " << e.what() << "\n";
  return 1;
}
