#include "locks/fenced_storage.hpp"

#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace conclave::testing {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// Both sides run on one machine, so the message is sent as it is in memory.
struct message {
  std::int64_t token = 0;
  std::int64_t writer = 0;
};

}  // namespace

struct fenced_storage::visit {
  explicit visit(tcp::socket s) : socket{std::move(s)} {}
  tcp::socket socket;
  std::array<message, 1> request{};
  std::array<char, 1> answer{};
};

fenced_storage::fenced_storage()
    : acceptor_{io_, tcp::endpoint{asio::ip::address_v4::loopback(), 0}} {
  accept();
  thread_ = std::thread{[this] { io_.run(); }};
}

fenced_storage::~fenced_storage() {
  io_.stop();
  thread_.join();
}

void fenced_storage::accept() {
  acceptor_.async_accept([this](error_code ec, tcp::socket s) {
    if (!ec) read(std::make_shared<visit>(std::move(s)));
    accept();
  });
}

void fenced_storage::read(std::shared_ptr<visit> v) {
  auto& to = *v;
  asio::async_read(to.socket, asio::buffer(to.request),
                   [this, v = std::move(v)](error_code ec, std::size_t) {
                     if (!ec) write(v);
                   });
}

void fenced_storage::answer(const std::shared_ptr<visit>& v) {
  error_code ec;
  // One byte into an empty buffer does not block.
  asio::write(v->socket, asio::buffer(v->answer), ec);
  if (!ec) read(v);
}

void fenced_storage::withhold_answers() {
  const std::lock_guard lock{mutex_};
  withholds_answers_ = true;
}

void fenced_storage::answer_again() {
  const std::lock_guard lock{mutex_};
  withholds_answers_ = false;
  for (auto& v : std::exchange(unanswered_, {}))
    asio::post(io_, [this, v = std::move(v)] { answer(v); });
}

void fenced_storage::write(const std::shared_ptr<visit>& v) {
  storage_write w;
  w.writer = static_cast<int>(v->request[0].writer);
  w.token = v->request[0].token;
  {
    const std::lock_guard lock{mutex_};
    w.accepted = resource_.write(w.token);
    if (w.accepted) last_writer_ = w.writer;
    w.answered = !withholds_answers_;
    if (!w.answered) unanswered_.push_back(v);
    v->answer[0] = w.accepted ? '+' : '-';
  }
  writes_.put(w);
  if (w.answered) answer(v);
}

std::optional<storage_write> fenced_storage::next_of(int writer) {
  while (auto w = writes_.take())
    if (w->writer == writer) return w;
  return std::nullopt;
}

std::size_t fenced_storage::refused() const {
  const std::lock_guard lock{mutex_};
  return resource_.refused();
}

int fenced_storage::last_writer() const {
  const std::lock_guard lock{mutex_};
  return last_writer_;
}

storage_link::storage_link(std::uint16_t port, int writer) : writer_{writer} {
  socket_.connect({asio::ip::address_v4::loopback(), port});
}

bool storage_link::write(std::int64_t token) {
  const std::array<message, 1> m{{{token, writer_}}};
  asio::write(socket_, asio::buffer(m));
  std::array<char, 1> answer{};
  asio::read(socket_, asio::buffer(answer));
  return answer[0] == '+';
}

}  // namespace conclave::testing
