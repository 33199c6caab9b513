#include "requests/requests.hpp"

#include <utility>

#include "base/valid_path.hpp"
#include "session/paths.hpp"
#include "wire/frame.hpp"
#include "wire/multi.hpp"

namespace conclave::requests {
namespace {

using session::on_disconnect;
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

// Returns the reason if the node cannot be created. A sequential path may end with a slash, because
// the server appends the sequence number.
error_code check(std::string_view path, const create_options& options) {
  if (!valid_path(is_sequential(options.mode) ? std::string{path} + '1' : path))
    return errc::invalid_path;
  if (has_ttl(options.mode) != (options.ttl.count() > 0)) return errc::invalid_argument;
  return {};
}

error_code check(std::string_view path) {
  return valid_path(path) ? error_code{} : errc::invalid_path;
}

// Returns the path of a node to be created, as the server knows it. For a sequential node, "/"
// means a child of the root.
std::string path_to_create(const defaults& d, std::string_view path) {
  return path == "/" ? d.chroot + "/" : session::with_chroot(d.chroot, path);
}

const acl& acl_for(const defaults& d, const create_options& options) {
  return options.acl.empty() ? d.acl : options.acl;
}

template <class Result>
request<Result> refuse(error_code ec) {
  request<Result> r;
  r.refused = ec;
  return r;
}

// The frame is a request header and the body's fields. auth has a reserved xid. For other requests,
// the machine sets the xid later.
template <class Result, class... Body>
request<Result> make(opcode type, on_disconnect rule, typename request<Result>::reader read,
                     const Body&... body) {
  request<Result> r{{}, type, rule, {}, {}, read};
  const auto xid = type == opcode::auth ? wire::special_xid::auth : 0;
  wire::append_frame(r.frame, wire::request_header{xid, type}, body...);
  return r;
}

template <class Result>
request<Result> watching(request<Result> r, session::watch_slot slot, std::string path,
                         const watcher& w) {
  if (w) r.watch.emplace(session::operation::wanted_watch{slot, std::move(path), w});
  return r;
}

// Returns a function that parses a record of the reply and converts it into the result. Convert is
// a stateless function object. Replies with an error have no record.
template <class Record, class Result, class Convert>
typename request<Result>::reader reading(Convert) {
  return [](const defaults& d, const wire::reply_header& header, wire::reader& in, Result& out) {
    if (header.error != 0) return true;
    const auto record = in.read<Record>();
    if (in.ok()) Convert{}(d, record, out);
    return in.ok();
  };
}

constexpr auto read_stat = [](const defaults&, const auto& in, auto& out) { out = in.stat.value; };

bool read_nothing(const defaults&, const wire::reply_header&, wire::reader&, nothing&) {
  return true;
}

}  // namespace

request<create_result> create(const defaults& d, std::string_view path, std::string_view data,
                              const create_options& options) {
  if (const auto ec = check(path, options)) return refuse<create_result>(ec);
  const auto read = reading<wire::create2_response, create_result>(
      [](const defaults& at, const auto& in, create_result& out) {
        out.path = session::without_chroot(at.chroot, in.path);
        out.stat = in.stat.value;
      });
  const auto full = path_to_create(d, path);
  const auto list = records(acl_for(d, options));
  const auto flags = static_cast<std::int32_t>(options.mode);
  if (has_ttl(options.mode))
    return make<create_result>(
        opcode::create_ttl, on_disconnect::fail, read,
        wire::create_ttl_request{full, data, list, flags, options.ttl.count()});
  const bool container = options.mode == create_mode::container;
  return make<create_result>(container ? opcode::create_container : opcode::create2,
                             on_disconnect::fail, read,
                             wire::create_request{full, data, list, flags});
}

request<nothing> remove(const defaults& d, std::string_view path, std::int32_t version) {
  if (const auto ec = check(path)) return refuse<nothing>(ec);
  return make<nothing>(opcode::remove, on_disconnect::fail, read_nothing,
                       wire::path_version_request{session::with_chroot(d.chroot, path), version});
}

request<std::optional<node_stat>> exists(const defaults& d, std::string_view path,
                                         const watcher& w) {
  using result = std::optional<node_stat>;
  if (const auto ec = check(path)) return refuse<result>(ec);
  const auto full = session::with_chroot(d.chroot, path);
  return watching(make<result>(opcode::exists, on_disconnect::repeat,
                               reading<wire::stat_response, result>(read_stat),
                               wire::path_watch_request{full, bool{w}}),
                  session::watch_slot::exist, full, w);
}

request<get_result> get(const defaults& d, std::string_view path, const watcher& w) {
  if (const auto ec = check(path)) return refuse<get_result>(ec);
  const auto read = reading<wire::get_data_response, get_result>(
      [](const defaults&, const auto& in, get_result& out) {
        out.data = in.data;
        out.stat = in.stat.value;
      });
  const auto full = session::with_chroot(d.chroot, path);
  return watching(make<get_result>(opcode::get_data, on_disconnect::repeat, read,
                                   wire::path_watch_request{full, bool{w}}),
                  session::watch_slot::data, full, w);
}

request<node_stat> set(const defaults& d, std::string_view path, std::string_view data,
                       std::int32_t version) {
  if (const auto ec = check(path)) return refuse<node_stat>(ec);
  return make<node_stat>(
      opcode::set_data, on_disconnect::fail, reading<wire::stat_response, node_stat>(read_stat),
      wire::set_data_request{session::with_chroot(d.chroot, path), data, version});
}

request<children_result> children(const defaults& d, std::string_view path, const watcher& w) {
  if (const auto ec = check(path)) return refuse<children_result>(ec);
  const auto read = reading<wire::get_children2_response, children_result>(
      [](const defaults&, const auto& in, children_result& out) {
        out.names = strings(in.names);
        out.stat = in.stat.value;
      });
  const auto full = session::with_chroot(d.chroot, path);
  return watching(make<children_result>(opcode::get_children2, on_disconnect::repeat, read,
                                        wire::path_watch_request{full, bool{w}}),
                  session::watch_slot::child, full, w);
}

request<nothing> sync(const defaults& d, std::string_view path) {
  if (const auto ec = check(path)) return refuse<nothing>(ec);
  return make<nothing>(opcode::sync, on_disconnect::repeat, read_nothing,
                       wire::path_record{session::with_chroot(d.chroot, path)});
}

request<acl_result> get_acl(const defaults& d, std::string_view path) {
  if (const auto ec = check(path)) return refuse<acl_result>(ec);
  const auto read = reading<wire::get_acl_response, acl_result>(
      [](const defaults&, const auto& in, acl_result& out) {
        for (const auto& entry : in.acl)
          out.acl.push_back({entry.permissions, std::string{entry.scheme}, std::string{entry.id}});
        out.stat = in.stat.value;
      });
  return make<acl_result>(opcode::get_acl, on_disconnect::repeat, read,
                          wire::path_record{session::with_chroot(d.chroot, path)});
}

request<node_stat> set_acl(const defaults& d, std::string_view path, const acl& list,
                           std::int32_t version) {
  if (const auto ec = check(path)) return refuse<node_stat>(ec);
  return make<node_stat>(
      opcode::set_acl, on_disconnect::fail, reading<wire::stat_response, node_stat>(read_stat),
      wire::set_acl_request{session::with_chroot(d.chroot, path), records(list), version});
}

request<std::vector<std::string>> ephemerals(const defaults& d, std::string_view prefix) {
  using result = std::vector<std::string>;
  // The prefix may end with a slash.
  if (const auto ec = check(std::string{prefix} + 'x')) return refuse<result>(ec);
  const auto read =
      reading<wire::names_response, result>([](const defaults& at, const auto& in, result& out) {
        // The server compares the prefix as text, so it may also return nodes outside the chroot.
        for (const auto path : in.names)
          if (session::in_chroot(at.chroot, path))
            out.emplace_back(session::without_chroot(at.chroot, path));
      });
  return make<result>(opcode::get_ephemerals, on_disconnect::repeat, read,
                      wire::path_record{session::with_chroot(d.chroot, prefix)});
}

request<std::int32_t> count_descendants(const defaults& d, std::string_view path) {
  if (const auto ec = check(path)) return refuse<std::int32_t>(ec);
  const auto read = reading<wire::get_all_children_number_response, std::int32_t>(
      [](const defaults&, const auto& in, std::int32_t& out) { out = in.total; });
  return make<std::int32_t>(opcode::get_all_children_number, on_disconnect::repeat, read,
                            wire::path_record{session::with_chroot(d.chroot, path)});
}

// --- transactions and groups of reads

namespace {

// Builds the parts of a transaction. Returns an error for a part with invalid arguments.
class multi_builder {
 public:
  multi_builder(const defaults& d, std::size_t parts) : defaults_{d} {
    paths_.reserve(parts);  // the records point into it
    parts_.reserve(parts);
  }

  error_code operator()(const transaction::create_part& p) {
    if (const auto ec = check(p.path, p.options)) return ec;
    const std::string_view path = paths_.emplace_back(path_to_create(defaults_, p.path));
    const auto list = records(acl_for(defaults_, p.options));
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
    return paths_.emplace_back(session::with_chroot(defaults_.chroot, path));
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

  const defaults& defaults_;
  std::vector<std::string> paths_;
  std::vector<wire::multi_part> parts_;
};

struct multi_body {
  const std::vector<wire::multi_part>& parts;
  static void fields(auto& io, auto& r) { wire::write_multi_request(io, r.parts); }
};

template <class Result>
request<Result> make_multi(const defaults& d, opcode type, on_disconnect rule,
                           typename request<Result>::reader read, const auto& parts) {
  multi_builder builder{d, parts.size()};
  for (const auto& part : parts)
    if (const auto ec = std::visit(builder, part)) return refuse<Result>(ec);
  return make<Result>(type, rule, read, multi_body{builder.parts()});
}

error_code code_of(const wire::multi_reply& a) {
  return a.type == opcode::error && a.error != 0 ? error_code{static_cast<errc>(a.error)}
                                                 : error_code{};
}

}  // namespace

request<transaction_result> commit(const defaults& d, const transaction& t) {
  const auto read = [](const defaults& at, const wire::reply_header& header, wire::reader& in,
                       transaction_result& out) {
    std::vector<wire::multi_reply> replies;
    if (in.at_end()) return header.error != 0;
    if (!wire::read_multi_response(in, replies)) return false;
    out.zxid = header.zxid;
    for (const auto& a : replies)
      out.parts.push_back(
          {code_of(a), std::string{session::without_chroot(at.chroot, a.path)}, a.stat.value});
    return true;
  };
  return make_multi<transaction_result>(d, opcode::multi, on_disconnect::fail, read, t.parts());
}

request<std::vector<read_result>> read(const defaults& d, const read_group& group) {
  using result = std::vector<read_result>;
  const auto read = [](const defaults&, const wire::reply_header& header, wire::reader& in,
                       result& out) {
    std::vector<wire::multi_reply> replies;
    if (in.at_end()) return header.error != 0;
    if (!wire::read_multi_response(in, replies)) return false;
    for (const auto& a : replies)
      out.push_back({code_of(a), std::string{a.data}, a.stat.value, strings(a.names)});
    return true;
  };
  return make_multi<result>(d, opcode::multi_read, on_disconnect::repeat, read, group.parts());
}

// --- watches and credentials

request<nothing> add_watch(const defaults& d, std::string_view path, watch_mode mode,
                           const watcher& w) {
  if (const auto ec = check(path)) return refuse<nothing>(ec);
  if (!w) return refuse<nothing>(errc::invalid_argument);
  const auto full = session::with_chroot(d.chroot, path);
  const auto slot = mode == watch_mode::recursive ? session::watch_slot::recursive
                                                  : session::watch_slot::persistent;
  return watching(make<nothing>(opcode::add_watch, on_disconnect::repeat, read_nothing,
                                wire::path_type_request{full, static_cast<std::int32_t>(mode)}),
                  slot, full, w);
}

request<nothing> remove_watch(const defaults& d, std::string_view path, watch_kind kind) {
  if (const auto ec = check(path)) return refuse<nothing>(ec);
  return make<nothing>(opcode::remove_watches, on_disconnect::succeed, read_nothing,
                       wire::path_type_request{session::with_chroot(d.chroot, path),
                                               static_cast<std::int32_t>(kind)});
}

request<nothing> add_auth(const credentials& c) {
  if (c.scheme == "sasl") return refuse<nothing>(errc::not_supported);
  if (c.scheme.empty()) return refuse<nothing>(errc::invalid_argument);
  return make<nothing>(opcode::auth, on_disconnect::repeat, read_nothing,
                       wire::auth_request{0, c.scheme, c.value.reveal()});
}

request<std::vector<identity>> who_am_i() {
  using result = std::vector<identity>;
  const auto read =
      reading<wire::who_am_i_response, result>([](const defaults&, const auto& in, result& out) {
        for (const auto& i : in.identities)
          out.push_back({std::string{i.scheme}, std::string{i.id}});
      });
  return make<result>(opcode::who_am_i, on_disconnect::repeat, read);
}

}  // namespace conclave::requests
