#include "simulation/world/server.hpp"

#include <algorithm>
#include <utility>

#include "server/core/access.hpp"

namespace conclave::simulated {
namespace {

constexpr std::string_view super_user = "super:secret";
constexpr std::int64_t wall_begin_ms = 1'600'000'000'000;

}  // namespace

server::server(server_impl::core_options options, std::uint64_t seed, std::unique_ptr<storage> disk)
    : options_{std::move(options)}, random_{seed}, disk_{std::move(disk)} {
  static const auto digest = server_impl::digest_of(super_user);
  options_.super_digest = digest;
  options_.random = [this](char* into, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) into[i] = static_cast<char>(random_());
  };
  options_.log_session = [this](std::string_view text) {
    if (text.ends_with(" expired") && expired)
      expired(std::stoll(std::string{text.substr(text.find("0x"))}, nullptr, 16));
  };
}

server_impl::moment server::moment() const {
  return {server_impl::time_point{std::chrono::hours{1} + now_},
          wall_begin_ms + std::chrono::duration_cast<std::chrono::milliseconds>(now_).count()};
}

void server::start(instant now) {
  now_ = now;
  ++generation_;
  store_ = &disk_->power_on();
  core_ = std::make_unique<server_impl::core>(options_, store_->load(), 1, moment());
  turn(now, [](auto&) {});
}

void server::crash() {
  core_.reset();
  disk_->power_off();
}

void server::end_turn() {
  core_->expire();
  if (core_->has_changes()) try {
      store_->commit(core_->take_changes());
    } catch (const power_failure&) {
      core_.reset();
      if (failed) failed();
      return;
    }
  for (const auto id : core_->take_ready()) {
    auto bytes = std::exchange(core_->output(id), {});
    const bool last = core_->is_closing(id);
    if (last) core_->disconnected(id);
    if (output) output(id, std::move(bytes), last);
  }
}

instant server::next_deadline() const {
  const auto when = core_ ? core_->next_deadline() : server_impl::time_point::max();
  if (when == server_impl::time_point::max()) return instant::max();
  return when - server_impl::time_point{std::chrono::hours{1}};
}

void server::set_counter(const std::string& path, std::int32_t next) {
  auto& store = disk_->power_on();
  const auto kept = store.load();
  server_impl::batch change;
  change.zxid = kept.zxid;
  for (const auto& n : kept.nodes)
    if (n.path == path) change.parents.push_back({path, {next, n.children.pzxid}});
  store.commit(change);
  disk_->power_off();
}

// --- direct_client

direct_client::~direct_client() { end(); }

void direct_client::end() {
  if (id_ == 0 || !server_.up() || generation_ != server_.generation()) return;
  // As for a dead process: the connection ends, and the session with it.
  const auto session = server_.core().session_of(id_);
  server_.turn(server_.now(), [&](server_impl::core& c) {
    c.disconnected(id_);
    c.process_ended(session);
  });
  id_ = 0;
}

void direct_client::connect() {
  constexpr std::int32_t binding = 4711;  // the session ends with its connection
  generation_ = server_.generation();
  id_ = server_.new_connection();
  std::string hello;
  const std::string no_password(16, '\0');
  wire::writer{hello}(wire::connect_request{binding, 0, 30'000, 0, no_password});
  std::string auth;
  wire::writer{auth}(wire::request_header{wire::special_xid::auth, wire::opcode::auth},
                     wire::auth_request{0, "digest", super_user});
  turn([&](server_impl::core& c) {
    c.connected(id_, {{}, binding});
    c.receive(id_, hello);
    if (super_) c.receive(id_, auth);
  });
}

// Returns the output for this client. The output for other connections is passed on as usual.
std::string direct_client::turn(const std::function<void(server_impl::core&)>& work) {
  if (!server_.up()) return {};
  std::string answer;
  const auto others = server_.output;
  server_.output = [&](server::connection_id id, std::string bytes, bool last) {
    if (id == id_)
      answer = std::move(bytes);
    else if (others)
      others(id, std::move(bytes), last);
  };
  server_.turn(server_.now(), work);
  server_.output = others;
  return answer;
}

wire::reply_header direct_client::exchange_frame(const std::string& frame, std::string& body) {
  if (id_ == 0 || generation_ != server_.generation()) connect();
  const auto answer = turn([&](server_impl::core& c) {
    c.receive(id_, std::string_view{frame}.substr(wire::frame_prefix));
  });
  wire::frame_splitter frames{std::size_t{1} << 24};
  frames.feed(answer);
  wire::reply_header header;
  header.error = static_cast<std::int32_t>(errc::protocol_error);
  while (const auto payload = frames.next()) {
    wire::reader in{*payload};
    header = in.read<wire::reply_header>();
    body = payload->substr(payload->size() - in.remaining());
  }
  return header;
}

error_code direct_client::create(std::string_view path, std::string_view data,
                                 const create_options& how) {
  create_result made;
  return ask(requests::create(defaults_, path, data, how), made);
}

std::string direct_client::create_sequential(std::string_view path, std::string_view data) {
  create_result made;
  const auto ec =
      ask(requests::create(defaults_, path, data, create_mode::ephemeral_sequential), made);
  return ec ? std::string{} : made.path;
}

error_code direct_client::remove(std::string_view path) {
  requests::nothing none;
  return ask(requests::remove(defaults_, path, any_version), none);
}

error_code direct_client::set(std::string_view path, std::string_view data) {
  node_stat stat;
  return ask(requests::set(defaults_, path, data, any_version), stat);
}

bool direct_client::exists(std::string_view path) {
  std::optional<node_stat> stat;
  ask(requests::exists(defaults_, path, {}), stat);
  return stat.has_value();
}

get_result direct_client::get(std::string_view path) {
  get_result got;
  ask(requests::get(defaults_, path, {}), got);
  return got;
}

std::vector<std::string> direct_client::children(std::string_view path) {
  children_result got;
  if (ask(requests::children(defaults_, path, {}), got)) return {};
  std::sort(got.names.begin(), got.names.end());
  return got.names;
}

}  // namespace conclave::simulated
