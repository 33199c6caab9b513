// Acquires a lock in coroutines, without blocking a thread: awaitable SERVER
#include <chrono>
#include <exception>
#include <iostream>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <conclave/mutex.hpp>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> worker(conclave::client& zk, const char* name) {
  conclave::mutex m{zk, "/examples/awaitable"};
  {
    const auto guard = co_await m.async_scoped_lock(asio::use_awaitable);
    std::cout << name << " holds it\n";
  }
  using namespace std::chrono_literals;
  if (const auto guard = co_await m.async_try_scoped_lock_for(5s, asio::use_awaitable))
    std::cout << name << " holds it again\n";
}

}  // namespace

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  asio::io_context io;
  std::exception_ptr failure;
  for (const auto* name : {"one", "two", "three"})
    asio::co_spawn(io, worker(zk, name), [&](std::exception_ptr e) {
      if (e) failure = e;
    });
  io.run();
  if (failure) std::rethrow_exception(failure);
} catch (const std::exception& e) {
  std::cerr << "awaitable: " << e.what() << "\n";
  return 1;
}
