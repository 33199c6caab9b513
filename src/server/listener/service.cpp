#include "server/listener/service.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <boost/asio/post.hpp>
#include <openssl/rand.h>

#include "base/process_binding.hpp"
#include "server/core/clock_zxid.hpp"

namespace conclave::server_impl {
namespace {

// Read from one client before others have their turn.
constexpr std::size_t read_at_once = 64 * 1024;
// A client with more than this unsent is not listened to until it has read.
constexpr std::size_t enough_unsent = 256 * 1024;
// With more than this unsent to all together, a client that has read everything is still served;
// the others wait until they have.
constexpr std::size_t enough_unsent_by_all = 256u << 20;
// With more than this, who does not read is dropped.
constexpr std::size_t most_unsent_by_all = 512u << 20;
// With more watch events than this in a turn, no more requests are taken in until they are sent.
constexpr std::size_t enough_events = 32u << 20;
// Time for one client's requests before others have their turn.
constexpr auto time_at_once = std::chrono::milliseconds{5};
// What is taken in before the turn ends, when there is always more.
constexpr int handlers_in_a_turn = 1024;
// The greeting is less than 100 bytes.
constexpr std::size_t greeting_limit = 1024;
// After a turn that was so late or took so long, clients that could not be heard meanwhile are
// heard before anyone expires: until nothing waits, or for so many turns.
constexpr auto held_up = std::chrono::milliseconds{200};
constexpr int turns_to_hear_all = 64;
constexpr std::uintmax_t room_to_go_on = 4u << 20;
constexpr auto does_not_read = "does not read its answers, dropped";
constexpr auto between_looks = std::chrono::seconds{1};

moment now() {
  return {std::chrono::steady_clock::now(), std::chrono::duration_cast<std::chrono::milliseconds>(
                                                std::chrono::system_clock::now().time_since_epoch())
                                                .count()};
}

std::uint64_t frames_in(std::string_view bytes) {
  wire::frame_splitter all{std::numeric_limits<std::int32_t>::max()};
  all.feed(bytes);
  std::uint64_t count = 0;
  while (all.next()) ++count;
  return count;
}

}  // namespace

service::service(server_options options, storage where)
    : options_{std::move(options)}, store_{std::move(where)}, buffer_(read_at_once) {
  auto& per_address = options_.max_connections_per_address;
  if (!per_address) per_address = admission::default_per_address(options_.max_connections);
  admission_ =
      std::make_unique<admission>(admission::limits{options_.max_connections, *per_address});
  if (!store_.notice.empty()) log(log_level::warning, store_.notice);
  auto kept = store_.keeps->load();
  const auto started = now();
  const auto first_zxid = clock_zxid(started.wall_ms, kept.zxid);
  core_ = std::make_unique<core>(options_for_core(), std::move(kept), first_zxid, started);
  // Clients are shown the zxid before the first change: it must survive, too.
  store_.keeps->commit(core_->take_changes());
  if (options_.tls) tls_ = std::make_unique<tls::tls_server_settings>(*options_.tls);
  if (store_.check_folder)
    folder_watch_ = std::make_unique<folder_watch>(io_, options_.data, store_.check_folder);
  open_doors();
}

service::~service() = default;

core_options service::options_for_core() const {
  core_options c;
  c.tick = options_.tick;
  c.min_session_timeout = options_.min_session_timeout.value_or(2 * options_.tick);
  c.max_session_timeout = options_.max_session_timeout.value_or(20 * options_.tick);
  if (c.min_session_timeout.count() <= 0 || c.min_session_timeout > c.max_session_timeout)
    throw error{errc::invalid_argument,
                "session timeouts must be above zero, and the shortest not above the longest"};
  if (options_.reap_interval.count() <= 0)
    throw error{errc::invalid_argument,
                "the time between looks for empty containers must be above zero"};
  c.reap_interval = options_.reap_interval;
  c.super_digest = options_.super_digest;
  for (const auto& scheme : options_.required_auth)
    if (scheme != "ip" && (scheme != "digest" || !options_.digest_auth))
      throw error{errc::invalid_argument, "nobody can authenticate by '" + scheme +
                                              "' here; required_auth is digest or ip"};
  c.required_auth = options_.required_auth;
  c.digest_auth = options_.digest_auth;
  c.ttl_nodes = options_.ttl_nodes;
  c.max_sessions = options_.max_sessions;
  c.note = [this](std::string_view text) { log(log_level::info, std::string{text}); };
  c.random = [](char* into, std::size_t size) {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(into), static_cast<int>(size)) != 1)
      throw std::runtime_error{"the system gives no random numbers"};
  };
  return c;
}

void service::set_tls(const server_tls_options& options) {
  if (!options_.tls)
    throw error{errc::invalid_argument, "a server without TLS has no use for certificates"};
  auto fresh = std::make_unique<tls::tls_server_settings>(options);
  boost::asio::post(io_, [this, fresh = std::move(fresh)]() mutable { tls_ = std::move(fresh); });
}

// A port that strangers can reach must not fill the log.
void service::log_tls_failure(const link& l) {
  if (l.tls == nullptr || l.tls->reason().empty()) return;
  const auto held_back = tls_failures_.allow(clock::now());
  if (!held_back) return;
  auto text = l.name + ": TLS failed (" + l.tls->reason() + ")";
  if (*held_back > 0) text += "; so did " + std::to_string(*held_back) + " more before it";
  log(log_level::warning, text);
}

void service::log(log_level level, const std::string& text) const {
  if (options_.log) options_.log(level, text);
}

// --- turns

void service::run() {
  // Also when the disk has failed: clients must not wait for answers that will never come.
  struct leaving {
    service& s;
    ~leaving() {
      s.doors_.clear();
      for (const auto& [id, l] : s.links_) l->close();
      s.links_.clear();
      s.waiting_room_.clear();
    }
  } const at_the_end{*this};
  for (auto& d : doors_) wait_at(d);
  next_look_ = idle_since_ = clock::now();
  wake_up_in_time();
  while (!stopping_) {
    io_.run_one();
    int left = handlers_in_a_turn;
    while (left > 0 && io_.poll_one() != 0) --left;
    if (left > 0) listen_first_ = 0;  // nothing waits any more
    end_turn();
  }
}

void service::stop() {
  stopping_ = true;
  boost::asio::post(io_, [] {});
}

void service::begin_turn() {
  if (in_turn_) return;
  in_turn_ = true;
  const auto n = now();
  turn_began_ = n.now;
  core_->begin_turn(n);
  if (const auto late = n.now - due_; late > held_up) {
    core_->excuse(late);
    listen_first_ = turns_to_hear_all;
  }
}

void service::end_turn() {
  begin_turn();
  in_turn_ = false;
  if (turn_began_ >= next_look_) look_around();
  if (listen_first_ == 0)
    core_->expire();
  else
    --listen_first_;
  if (core_->has_changes()) commit();
  fresh_ = 0;

  const auto touched = core_->take_touched();
  for (const auto id : touched) {
    const auto i = links_.find(id);
    if (i == links_.end()) continue;
    const auto l = i->second;
    if (core_->overflowed(id)) {
      drop(l, "has more watch events to get than can wait for it, dropped");
      continue;
    }
    if (core_->finished(id)) l->ending = true;
    auto& out = core_->output(id);
    const auto frames = frames_in(out);
    l->frames_sent += frames;
    counts_.sent += frames;
    send(l, out);
  }
  // They tell of the turn, so they wait for its commit as well.
  for (const auto& [l, word] : std::exchange(questions_, {})) {
    auto text = answer_to(*l, word);
    send(l, text);
  }
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - turn_began_);
  if (took > held_up) listen_first_ = turns_to_hear_all;
  if (!touched.empty()) {
    counts_.shortest = counts_.turns == 0 ? took : std::min(counts_.shortest, took);
    counts_.longest = std::max(counts_.longest, took);
    counts_.all += took;
    ++counts_.turns;
  }
  wake_up_in_time();
}

void service::commit() {
  try {
    store_.keeps->commit(core_->take_changes());
    ++counts_.commits;
  } catch (const disk_full& e) {
    disk_is_full(e.what());
  }
}

// The core knows what the disk does not. Nobody was told yet, so all is taken back: the connections
// are closed, and everyone finds the state of the last commit. Until there is room, reading works
// and writing is refused.
void service::disk_is_full(const std::string& why) {
  log(log_level::error, why + "; nothing can be changed until there is room");
  while (!links_.empty()) {
    const auto l = links_.begin()->second;
    core_->output(l->id).clear();
    hang_up(l);
  }
  core_ = std::make_unique<core>(options_for_core(), store_.keeps->load(), 0, now());
  core_->set_writable(false);
  disk_full_ = true;
}

void service::try_disk_again() {
  // The store keeps some room for itself; a try that only fits there would soon be followed by the
  // next failure, and that one costs everybody's connection.
  std::error_code unknown;
  const auto space = std::filesystem::space(options_.data, unknown);
  if (!unknown && space.available < room_to_go_on) return;
  try {
    batch nothing;
    nothing.zxid = core_->zxid();
    store_.keeps->commit(nothing);
  } catch (const disk_full&) {
    return;
  }
  disk_full_ = false;
  core_->set_writable(true);
  log(log_level::warning, "there is room on the disk again");
  for (const auto session : std::exchange(ended_meanwhile_, {})) core_->process_ended(session);
}

void service::wake_up_in_time() {
  const auto when = std::min(core_->next_deadline(), next_look_);
  due_ = std::max(when, clock::now());
  if (when == timer_set_for_) return;
  timer_set_for_ = when;
  timer_.expires_at(when);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) timer_set_for_ = clock::time_point::max();
  });
}

// What needs no exact time: clients that do not greet or do not read, idleness, a full disk.
void service::look_around() {
  next_look_ = turn_began_ + between_looks;
  if (store_.check_folder) store_.check_folder();
  while (!waiting_room_.empty() &&
         turn_began_ - waiting_room_.front()->since > options_.handshake_limit) {
    const auto l = waiting_room_.front();
    log(log_level::info, l->name + " did not greet in time");
    hang_up(l);
  }
  std::vector<link_ptr> stalled;
  for (const auto& [id, l] : links_) {
    // A process that was stopped does not read, and keeps its session all the same.
    if (!core_->held_open(id) && l->unsent() > 0 &&
        turn_began_ - l->last_sent > options_.stall_limit)
      stalled.push_back(l);
  }
  for (const auto& l : stalled) drop(l, does_not_read);
  std::erase_if(absent_, [this](const auto& a) { return !core_->is_awaited(a.first); });
  if (disk_full_) try_disk_again();
  if (doors_shut_) {
    doors_shut_ = false;
    for (auto& d : doors_) wait_at(d);
  }
  if (!links_.empty() || core_->sessions().size() > 0) idle_since_ = turn_began_;
  if (options_.idle_exit.count() > 0 && turn_began_ - idle_since_ >= options_.idle_exit) {
    log(log_level::info, "idle for long enough");
    stopping_ = true;
  }
}

// --- doors

void service::open_doors() {
  if (!options_.listen_tls.empty() && tls_ == nullptr)
    throw error{errc::invalid_argument, "listening with TLS needs a certificate and its key"};
  auto tcp = options_.listen;
  if (tcp.empty() && options_.listen_tls.empty() && options_.socket.empty())
    tcp.emplace_back("127.0.0.1:0");
  for (const auto& address : tcp) doors_.push_back(door::tcp(io_, address, door::kind::tcp));
  for (const auto& address : options_.listen_tls)
    doors_.push_back(door::tcp(io_, address, door::kind::tls));
  if (!options_.socket.empty())
    doors_.push_back(door::unix_socket(io_, options_.socket, options_.socket_group));
  for (const auto& d : doors_) addresses_.push_back(d.address());
}

void service::wait_at(door& d) {
  if (std::exchange(d.attended, true)) return;
  d.when_someone_waits([this, &d](const boost::system::error_code& ec) {
    d.attended = false;
    if (!ec) come_in(d);
  });
}

void service::come_in(door& d) {
  begin_turn();
  bool out_of_descriptors = false;
  for (int i = 0; i < 64; ++i) {
    auto g = d.let_in(out_of_descriptors);
    if (g == nullptr) break;
    welcome(std::move(g), d.what());
  }
  if (out_of_descriptors && !make_room()) {
    doors_shut_ = true;  // until the next look around
    return;
  }
  wait_at(d);
}

void service::welcome(std::unique_ptr<door::guest> g, door::kind through) {
  const bool local = through == door::kind::unix_socket;
  // Of a group's members the kernel has asked the socket's file.
  if (local && g->uid != 0 && g->uid != ::geteuid() && options_.socket_group.empty()) {
    log(log_level::warning, g->name + " of user " + std::to_string(g->uid) + " refused");
    ++counts_.rejected;
    return;
  }
  const auto refuse = [&](const char* why) {
    log(log_level::warning, g->name + " refused: " + why);
    ++counts_.rejected;
  };
  if (admission_->check(g->address) == admission::verdict::address_full &&
      !make_room(admission::network_of(g->address)))
    return refuse("too many connections from its address");
  if (admission_->check(g->address) == admission::verdict::server_full && !make_room())
    return refuse("too many connections");
  const auto l =
      std::make_shared<link>(++last_id_, std::move(g->socket), std::move(g->name), greeting_limit);
  l->address = std::move(g->address);
  if (through == door::kind::tls) l->tls = std::make_unique<tls::tls_engine>(*tls_);
  l->local = local;
  l->uid = g->uid;
  if (local) l->process = process_watch{io_, g->pid};
  admission_->opened(l->address);
  links_.emplace(l->id, l);
  l->in_waiting_room = waiting_room_.insert(waiting_room_.end(), l);
  core_->connected(l->id, {l->address, local ? process_binding(::getpid(), g->pid) : 0});
  wait_to_read(l);
}

// Who has waited longest without a greeting goes; of this network, if one is given.
bool service::make_room(const std::string& network) {
  const auto found =
      std::find_if(waiting_room_.begin(), waiting_room_.end(), [&](const link_ptr& l) {
        return network.empty() ||
               (!l->address.empty() && admission::network_of(l->address) == network);
      });
  if (found == waiting_room_.end()) return false;
  const auto oldest = *found;  // a copy: it leaves the room
  hang_up(oldest);
  return true;
}

bool service::begins_a_session_too_many(const link& l, std::string_view greeting) const {
  if (admission_->may_begin_session(l.local, links_.size() - waiting_room_.size())) return false;
  wire::reader in{greeting};
  return in.read<wire::connect_request>().session_id == 0;
}

void service::leave_waiting_room(link& l) {
  if (l.greeted) return;
  l.greeted = true;
  waiting_room_.erase(l.in_waiting_room);
}

// --- links

void service::wait_to_read(const link_ptr& l) {
  if (l->reading || l->closed) return;
  l->reading = true;
  l->socket.async_wait(link::socket_type::wait_read,
                       [this, l](const boost::system::error_code& ec) {
                         l->reading = false;
                         if (!ec && !l->closed) read(l);
                       });
}

void service::wait_to_write(const link_ptr& l) {
  if (l->writing || l->closed) return;
  l->writing = true;
  l->socket.async_wait(link::socket_type::wait_write,
                       [this, l](const boost::system::error_code& ec) {
                         l->writing = false;
                         if (ec || l->closed) return;
                         begin_turn();
                         const auto before = l->unsent();
                         std::string nothing;
                         send(l, nothing);
                         // It is not listened to while it reads, but it lives.
                         if (l->unsent() < before) core_->alive(l->id);
                       });
}

void service::read(const link_ptr& l) {
  begin_turn();
  core_->begin_turn(now());  // a turn can be long, and this is when it was heard
  std::string_view bytes;
  const auto before = l->unsent();
  const bool goes_on = l->receive(buffer_.data(), buffer_.size(), bytes);
  unsent_ = unsent_ + l->unsent() - before;
  if (!goes_on) {
    log_tls_failure(*l);
    return hang_up(l);
  }
  if (l->unsent() > 0) wait_to_write(l);  // of the TLS handshake
  if (l->unread.empty()) return take_in(l, bytes);
  const auto all = std::exchange(l->unread, {}).append(bytes);
  take_in(l, all);
}

// Goes on as long as the client's answers do not pile up; the rest is kept until it has read some.
void service::take_in(const link_ptr& l, std::string_view bytes) {
  if (!l->word_ruled_out && !l->ending && is_word(l, bytes)) return;
  l->frames.feed(bytes);
  const auto hold_back = [&] {
    l->unread.assign(l->frames.rest());
    l->frames.feed({});
    l->held_back = true;
  };
  const auto begun = clock::now();
  while (!l->ending && !core_->finished(l->id)) {
    const auto waiting = core_->output(l->id).size();
    const auto unread = l->unsent() + waiting;
    if (unread > enough_unsent || (unread > 0 && unsent_ + fresh_ > enough_unsent_by_all))
      return hold_back();  // send() comes back to it
    if (fresh_ > enough_unsent_by_all || core_->event_bytes() > enough_events ||
        clock::now() - begun > time_at_once) {
      hold_back();
      return listen_again(l);
    }
    const auto frame = l->frames.next();
    if (!frame) break;
    ++l->frames_received;
    ++counts_.received;
    if (!l->greeted && begins_a_session_too_many(*l, *frame)) {
      log(log_level::warning, l->name + " refused: too many connections");
      ++counts_.rejected;
      return hang_up(l);
    }
    core_->receive(l->id, *frame);
    if (core_->overflowed(l->id)) break;
    fresh_ += core_->output(l->id).size() - waiting;
    if (!l->greeted) {
      leave_waiting_room(*l);
      l->frames.set_limit(options_.max_request_bytes);
    }
  }
  if (l->frames.failed()) {
    log(log_level::warning, l->name + " sent something that is not ZooKeeper's protocol");
    return hang_up(l);
  }
  if (!core_->finished(l->id)) wait_to_read(l);
}

void service::send(const link_ptr& l, std::string& bytes) {
  if (l->closed) return;
  const auto before = l->unsent();
  const bool goes_on = l->send(bytes);
  unsent_ = unsent_ + l->unsent() - before;
  if (!goes_on) return hang_up(l);
  if (l->unsent() == 0) {
    if (l->ending) return hang_up(l);
  } else if (l->unsent() > options_.max_unsent_bytes || unsent_ > most_unsent_by_all) {
    return drop(l, does_not_read);
  } else {
    wait_to_write(l);
  }
  if (l->held_back && l->unsent() <= enough_unsent / 2) listen_again(l);
}

// In a handler of its own, so that it belongs to a turn with a commit.
void service::listen_again(const link_ptr& l) {
  if (!std::exchange(l->held_back, false)) return;
  boost::asio::post(io_, [this, l] {
    if (l->closed) return;
    begin_turn();
    const auto rest = std::exchange(l->unread, {});
    take_in(l, rest);
  });
}

// One that does not read. Also what the kernel still has for it is thrown away: it would stay there
// for as long as the client does not read, and the client would not learn that it was dropped.
void service::drop(const link_ptr& l, const char* why) {
  log(log_level::warning, l->name + ' ' + why);
  ++counts_.dropped_slow;
  boost::system::error_code ignored;
  l->socket.set_option(boost::asio::socket_base::linger{true, 0}, ignored);
  hang_up(l);
}

// Its session goes on without it, unless the process that held it is gone.
void service::hang_up(const link_ptr& l) {
  if (l->closed) return;
  l->closed = true;
  leave_waiting_room(*l);
  admission_->closed(l->address);
  const auto session = core_->session_of(l->id);
  const bool ends_with_its_process = core_->held_open(l->id) && l->process.known();
  core_->disconnected(l->id);
  links_.erase(l->id);
  unsent_ -= l->unsent();
  l->close();
  if (session == 0) return;
  absent_.erase(session);  // of a process that had the session before this one
  if (!ends_with_its_process) return;
  auto& away = absent_[session] = {l->id, std::move(l->process)};
  away.process.when_ended([this, session, id = l->id] {
    begin_turn();
    // It may have come and gone again meanwhile, from another process.
    const auto i = absent_.find(session);
    if (i == absent_.end() || i->second.last_link != id) return;
    if (disk_full_) ended_meanwhile_.push_back(session);
    core_->process_ended(session);
    absent_.erase(session);
  });
}

}  // namespace conclave::server_impl
