// Every operation: its request, how its answer is read, and what becomes of it at a cut.
#include "client/core.hpp"
#include "session/paths.hpp"
#include "wire/frame.hpp"
#include "wire/multi.hpp"

namespace conclave::detail {
namespace {

using session::on_cut;
using wire::opcode;

std::vector<wire::acl_record> records(const acl& list) {
  std::vector<wire::acl_record> out;
  for (const auto& entry : list) out.push_back({entry.permissions, entry.scheme, entry.id});
  return out;
}

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

bool has_ttl(create_mode m) {
  return m == create_mode::persistent_ttl || m == create_mode::persistent_sequential_ttl;
}

bool is_sequential(create_mode m) {
  return m == create_mode::persistent_sequential || m == create_mode::ephemeral_sequential ||
         m == create_mode::persistent_sequential_ttl;
}

// What is wrong with a node to be created, if anything. The server appends its number to a
// sequential path, so that may end with a slash.
error_code check(const std::string& path, const create_options& options) {
  if (!session::valid_path(is_sequential(options.mode) ? path + '1' : path))
    return errc::invalid_path;
  if (has_ttl(options.mode) != (options.ttl.count() > 0)) return errc::invalid_argument;
  return {};
}

error_code check(const std::string& path) {
  return session::valid_path(path) ? error_code{} : errc::invalid_path;
}

// The server's path of a node to be created. "/" alone names the root, but with a number behind it
// a child of the root.
std::string path_to_create(const client_core& core, const std::string& path) {
  return path == "/" ? core.chroot + path : session::with_chroot(core.chroot, path);
}

const acl& acl_for(client_core& core, const create_options& options) {
  if (!options.acl.empty()) return options.acl;
  if (core.open_by_default && core.log && !core.open_acl_told.exchange(true))
    core.log(log_level::warning,
             "nodes are created open to everybody, since neither credentials nor a default ACL "
             "were given");
  return core.default_acl;
}

// Builds the operation's frame and hands it to the session.
template <class Result, class Read>
class request {
 public:
  request(const core_pointer& core, receiver<Result> to, opcode type, on_cut rule, Read read)
      : core_{core},
        op_{std::make_unique<call<Result, Read>>(type, rule, core->driver->loop(), std::move(to),
                                                 std::move(read))} {}

  template <class... Parts>
  request& body(const Parts&... parts) {
    // Answers to auth carry a number of their own; the machine gives the others theirs.
    const auto xid = op_->type() == opcode::auth ? wire::special_xid::auth : 0;
    wire::append_frame(op_->frame, wire::request_header{xid, op_->type()}, parts...);
    return *this;
  }

  request& remember(credentials c) {
    op_->shown.emplace(std::move(c));
    return *this;
  }

  request& watch(session::watch_slot slot, std::string path, watcher w) {
    if (w)
      op_->watch.emplace(session::operation::wanted_watch{slot, std::move(path), std::move(w)});
    return *this;
  }

  void send() {
    const bool blocking = op_->blocking();
    op_->connect_cancellation(core_->driver);
    std::unique_ptr<session::operation> op = std::move(op_);
    if (const auto ec = core_->driver->submit(op, blocking))
      core_->driver->refuse(std::move(op), ec);
  }

  void send_watch_removal(watch_kind kind, const std::string& path, const watcher& w) {
    const bool blocking = op_->blocking();
    op_->connect_cancellation(core_->driver);
    std::unique_ptr<session::operation> op = std::move(op_);
    const auto ec = core_->driver->submit_watch_removal(op, kind, path, w, blocking);
    if (ec) core_->driver->refuse(std::move(op), ec);
  }

  void fail(error_code ec) { core_->driver->refuse(std::move(op_), ec); }

 private:
  const core_pointer& core_;
  std::unique_ptr<call<Result, Read>> op_;
};

template <class Result, class Read>
auto make(const core_pointer& core, receiver<Result> to, opcode type, on_cut rule, Read read) {
  return request<Result, Read>{core, std::move(to), type, rule, std::move(read)};
}

// Reads a record of the answer and turns it into the result; answers with an error have none.
template <class Record, class Result, class Convert>
auto read_as(Convert convert) {
  return [convert = std::move(convert)](const wire::reply_header& header, wire::reader& in,
                                        Result& result) {
    if (header.error != 0) return true;
    const auto record = in.read<Record>();
    if (in.ok()) convert(record, result);
    return in.ok();
  };
}

auto read_stat() {
  return read_as<wire::stat_response, node_stat>(
      [](const auto& r, node_stat& out) { out = r.stat.value; });
}

auto read_nothing() {
  return [](const wire::reply_header&, wire::reader&, std::monostate&) { return true; };
}

}  // namespace

void start_create(const core_pointer& core, receiver<create_result> to, std::string path,
                  std::string data, create_options options) {
  const auto type = has_ttl(options.mode)                    ? opcode::create_ttl
                    : options.mode == create_mode::container ? opcode::create_container
                                                             : opcode::create2;
  auto r = make<create_result>(core, std::move(to), type, on_cut::fail,
                               read_as<wire::create2_response, create_result>(
                                   [chroot = core->chroot](const auto& in, create_result& out) {
                                     out.path = session::without_chroot(chroot, in.path);
                                     out.stat = in.stat.value;
                                   }));
  if (const auto ec = check(path, options)) return r.fail(ec);
  const auto full = path_to_create(*core, path);
  const auto list = records(acl_for(*core, options));
  const auto flags = static_cast<std::int32_t>(options.mode);
  if (type == opcode::create_ttl)
    r.body(wire::create_ttl_request{full, data, list, flags, options.ttl.count()});
  else
    r.body(wire::create_request{full, data, list, flags});
  r.send();
}

void start_remove(const core_pointer& core, receiver<void> to, std::string path,
                  std::int32_t version) {
  auto r = make<void>(core, std::move(to), opcode::remove, on_cut::fail, read_nothing());
  if (const auto ec = check(path)) return r.fail(ec);
  r.body(wire::path_version_request{session::with_chroot(core->chroot, path), version}).send();
}

void start_exists(const core_pointer& core, receiver<std::optional<node_stat>> to, std::string path,
                  watcher w) {
  auto r =
      make<std::optional<node_stat>>(core, std::move(to), opcode::exists, on_cut::repeat,
                                     read_as<wire::stat_response, std::optional<node_stat>>(
                                         [](const auto& in, auto& out) { out = in.stat.value; }));
  if (const auto ec = check(path)) return r.fail(ec);
  const auto full = session::with_chroot(core->chroot, path);
  r.body(wire::path_watch_request{full, bool{w}});
  r.watch(session::watch_slot::exist, full, std::move(w));
  r.send();
}

void start_get(const core_pointer& core, receiver<get_result> to, std::string path, watcher w) {
  auto r = make<get_result>(
      core, std::move(to), opcode::get_data, on_cut::repeat,
      read_as<wire::get_data_response, get_result>([](const auto& in, get_result& out) {
        out.data = in.data;
        out.stat = in.stat.value;
      }));
  if (const auto ec = check(path)) return r.fail(ec);
  const auto full = session::with_chroot(core->chroot, path);
  r.body(wire::path_watch_request{full, bool{w}});
  r.watch(session::watch_slot::data, full, std::move(w));
  r.send();
}

void start_set(const core_pointer& core, receiver<node_stat> to, std::string path, std::string data,
               std::int32_t version) {
  auto r = make<node_stat>(core, std::move(to), opcode::set_data, on_cut::fail, read_stat());
  if (const auto ec = check(path)) return r.fail(ec);
  r.body(wire::set_data_request{session::with_chroot(core->chroot, path), data, version}).send();
}

void start_children(const core_pointer& core, receiver<children_result> to, std::string path,
                    watcher w) {
  auto r = make<children_result>(core, std::move(to), opcode::get_children2, on_cut::repeat,
                                 read_as<wire::get_children2_response, children_result>(
                                     [](const auto& in, children_result& out) {
                                       out.names = strings(in.names);
                                       out.stat = in.stat.value;
                                     }));
  if (const auto ec = check(path)) return r.fail(ec);
  const auto full = session::with_chroot(core->chroot, path);
  r.body(wire::path_watch_request{full, bool{w}});
  r.watch(session::watch_slot::child, full, std::move(w));
  r.send();
}

void start_sync(const core_pointer& core, receiver<void> to, std::string path) {
  auto r = make<void>(core, std::move(to), opcode::sync, on_cut::repeat, read_nothing());
  if (const auto ec = check(path)) return r.fail(ec);
  r.body(wire::path_record{session::with_chroot(core->chroot, path)}).send();
}

void start_get_acl(const core_pointer& core, receiver<acl_result> to, std::string path) {
  auto r = make<acl_result>(
      core, std::move(to), opcode::get_acl, on_cut::repeat,
      read_as<wire::get_acl_response, acl_result>([](const auto& in, acl_result& out) {
        for (const auto& entry : in.acl)
          out.acl.push_back({entry.permissions, std::string{entry.scheme}, std::string{entry.id}});
        out.stat = in.stat.value;
      }));
  if (const auto ec = check(path)) return r.fail(ec);
  r.body(wire::path_record{session::with_chroot(core->chroot, path)}).send();
}

void start_set_acl(const core_pointer& core, receiver<node_stat> to, std::string path, acl list,
                   std::int32_t version) {
  auto r = make<node_stat>(core, std::move(to), opcode::set_acl, on_cut::fail, read_stat());
  if (const auto ec = check(path)) return r.fail(ec);
  r.body(wire::set_acl_request{session::with_chroot(core->chroot, path), records(list), version})
      .send();
}

void start_ephemerals(const core_pointer& core, receiver<std::vector<std::string>> to,
                      std::string prefix) {
  auto r = make<std::vector<std::string>>(
      core, std::move(to), opcode::get_ephemerals, on_cut::repeat,
      read_as<wire::names_response, std::vector<std::string>>(
          [chroot = core->chroot](const auto& in, auto& out) {
            // The server compares text, so it may name nodes
            // beside the chroot.
            for (const auto path : in.names)
              if (session::in_chroot(chroot, path))
                out.emplace_back(session::without_chroot(chroot, path));
          }));
  if (const auto ec = check(prefix + "x")) return r.fail(ec);  // it may end with a slash
  r.body(wire::path_record{session::with_chroot(core->chroot, prefix)}).send();
}

void start_count_descendants(const core_pointer& core, receiver<std::int32_t> to,
                             std::string path) {
  auto r = make<std::int32_t>(core, std::move(to), opcode::get_all_children_number, on_cut::repeat,
                              read_as<wire::get_all_children_number_response, std::int32_t>(
                                  [](const auto& in, std::int32_t& out) { out = in.total; }));
  if (const auto ec = check(path)) return r.fail(ec);
  r.body(wire::path_record{session::with_chroot(core->chroot, path)}).send();
}

// --- several at once

namespace {

// The parts of a transaction as the server wants them; an error for one that no server would take.
class multi_builder {
 public:
  multi_builder(client_core& core, std::size_t parts) : core_{core} {
    paths_.reserve(parts);  // the records point into it
    parts_.reserve(parts);
  }

  error_code operator()(const transaction::create_part& p) {
    if (const auto ec = check(p.path, p.options)) return ec;
    const std::string_view path = paths_.emplace_back(path_to_create(core_, p.path));
    const auto list = records(acl_for(core_, p.options));
    const auto flags = static_cast<std::int32_t>(p.options.mode);
    if (has_ttl(p.options.mode))
      add(opcode::create_ttl,
          wire::create_ttl_request{path, p.data, list, flags, p.options.ttl.count()});
    else
      add(p.options.mode == create_mode::container ? opcode::create_container : opcode::create,
          wire::create_request{path, p.data, list, flags});
    return {};
  }
  error_code operator()(const transaction::remove_part& p) {
    return add_checked(opcode::remove, p.path, p.version);
  }
  error_code operator()(const transaction::check_part& p) {
    return add_checked(opcode::check, p.path, p.version);
  }
  error_code operator()(const transaction::set_part& p) {
    if (const auto ec = check(p.path)) return ec;
    add(opcode::set_data, wire::set_data_request{full(p.path), p.data, p.version});
    return {};
  }
  error_code operator()(const read_group::get_part& p) {
    return add_read(opcode::get_data, p.path);
  }
  error_code operator()(const read_group::children_part& p) {
    return add_read(opcode::get_children, p.path);
  }

  const std::vector<wire::multi_part>& parts() const noexcept { return parts_; }

 private:
  std::string_view full(const std::string& path) {
    return paths_.emplace_back(session::with_chroot(core_.chroot, path));
  }
  void add(opcode type, auto body) { parts_.push_back({type, std::move(body)}); }
  error_code add_checked(opcode type, const std::string& path, std::int32_t version) {
    if (const auto ec = check(path)) return ec;
    add(type, wire::path_version_request{full(path), version});
    return {};
  }
  error_code add_read(opcode type, const std::string& path) {
    if (const auto ec = check(path)) return ec;
    add(type, wire::path_watch_request{full(path), false});
    return {};
  }

  client_core& core_;
  std::vector<std::string> paths_;
  std::vector<wire::multi_part> parts_;
};

struct multi_body {
  const std::vector<wire::multi_part>& parts;
  static void fields(auto& io, auto& r) { wire::write_multi_request(io, r.parts); }
};

template <class Request>
void send_multi(const core_pointer& core, Request r, const auto& parts) {
  multi_builder builder{*core, parts.size()};
  for (const auto& part : parts)
    if (const auto ec = std::visit(builder, part)) return r.fail(ec);
  r.body(multi_body{builder.parts()}).send();
}

error_code code_of(const wire::multi_answer& a) {
  return a.type == opcode::error && a.error != 0 ? error_code{static_cast<errc>(a.error)}
                                                 : error_code{};
}

}  // namespace

void start_commit(const core_pointer& core, receiver<transaction_result> to, transaction t) {
  const auto read = [chroot = core->chroot](const wire::reply_header& header, wire::reader& in,
                                            transaction_result& out) {
    std::vector<wire::multi_answer> answers;
    if (in.at_end()) return header.error != 0;
    if (!wire::read_multi_response(in, answers)) return false;
    out.zxid = header.zxid;
    for (const auto& a : answers)
      out.parts.push_back(
          {code_of(a), std::string{session::without_chroot(chroot, a.path)}, a.stat.value});
    return true;
  };
  send_multi(core, make<transaction_result>(core, std::move(to), opcode::multi, on_cut::fail, read),
             t.parts());
}

void start_read(const core_pointer& core, receiver<std::vector<read_result>> to, read_group group) {
  const auto read = [](const wire::reply_header& header, wire::reader& in,
                       std::vector<read_result>& out) {
    std::vector<wire::multi_answer> answers;
    if (in.at_end()) return header.error != 0;
    if (!wire::read_multi_response(in, answers)) return false;
    for (const auto& a : answers)
      out.push_back({code_of(a), std::string{a.data}, a.stat.value, strings(a.names)});
    return true;
  };
  send_multi(
      core,
      make<std::vector<read_result>>(core, std::move(to), opcode::multi_read, on_cut::repeat, read),
      group.parts());
}

// --- the session itself

void start_close(const core_pointer& core, receiver<void> to) {
  auto read = read_nothing();
  auto op = std::make_unique<call<void, decltype(read)>>(opcode::close_session, on_cut::succeed,
                                                         core->driver->loop(), std::move(to), read);
  op->connect_cancellation(core->driver);
  core->driver->begin_close(std::move(op));
}

// --- watches and credentials

void start_add_watch(const core_pointer& core, receiver<void> to, std::string path, watch_mode mode,
                     watcher w) {
  auto r = make<void>(core, std::move(to), opcode::add_watch, on_cut::repeat, read_nothing());
  if (const auto ec = check(path)) return r.fail(ec);
  if (!w) return r.fail(errc::invalid_argument);
  const auto full = session::with_chroot(core->chroot, path);
  const auto slot = mode == watch_mode::recursive ? session::watch_slot::recursive
                                                  : session::watch_slot::persistent;
  r.body(wire::path_type_request{full, static_cast<std::int32_t>(mode)});
  r.watch(slot, full, std::move(w));
  r.send();
}

void start_remove_watch(const core_pointer& core, receiver<void> to, std::string path,
                        watch_kind kind, watcher w) {
  auto r = make<void>(core, std::move(to), opcode::remove_watches, on_cut::succeed, read_nothing());
  if (const auto ec = check(path)) return r.fail(ec);
  const auto full = session::with_chroot(core->chroot, path);
  r.body(wire::path_type_request{full, static_cast<std::int32_t>(kind)})
      .send_watch_removal(kind, full, w);
}

void start_add_auth(const core_pointer& core, receiver<void> to, credentials c) {
  auto r = make<void>(core, std::move(to), opcode::auth, on_cut::repeat, read_nothing());
  if (c.scheme == "sasl") return r.fail(errc::not_supported);
  if (c.scheme.empty()) return r.fail(errc::invalid_argument);
  r.body(wire::auth_request{0, c.scheme, c.value.reveal()});
  r.remember(std::move(c));
  r.send();
}

void start_who_am_i(const core_pointer& core, receiver<std::vector<identity>> to) {
  make<std::vector<identity>>(
      core, std::move(to), opcode::who_am_i, on_cut::repeat,
      read_as<wire::who_am_i_response, std::vector<identity>>([](const auto& in, auto& out) {
        for (const auto& i : in.identities)
          out.push_back({std::string{i.scheme}, std::string{i.id}});
      }))
      .body()
      .send();
}

}  // namespace conclave::detail
