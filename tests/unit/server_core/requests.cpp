#include "requests.hpp"

namespace conclave::server_impl {

using wire::opcode;

namespace {

std::vector<wire::acl_record> on_the_wire(const acl& access) {
  std::vector<wire::acl_record> records;
  for (const auto& e : access) records.push_back({e.permissions, e.scheme, e.id});
  return records;
}

std::vector<std::string_view> on_the_wire(const paths& list) { return {list.begin(), list.end()}; }

request group(opcode type, const std::vector<request>& parts) {
  request r{type, {}};
  wire::writer out{r.body};
  for (const auto& part : parts)
    out(wire::multi_header{part.type, false, -1}, wire::encoded{part.body});
  out(wire::multi_end);
  return r;
}

}  // namespace

const acl& open_to_all() {
  static const acl open = world(all_permissions);
  return open;
}

acl world(std::int32_t permissions) { return {{permissions, "world", "anyone"}}; }

request create(std::string_view path, std::string_view data, std::int32_t flags, const acl& access,
               opcode type) {
  return make_request(type, wire::create_request{path, data, on_the_wire(access), flags});
}
request create2(std::string_view path, std::string_view data, std::int32_t flags,
                const acl& access) {
  return create(path, data, flags, access, opcode::create2);
}
request create_ephemeral(std::string_view path) { return create(path, "", mode::ephemeral); }
request create_sequential(std::string_view path) { return create(path, "", mode::sequential); }
request create_container(std::string_view path) {
  return create(path, "", mode::container, open_to_all(), opcode::create_container);
}
request create_ttl(std::string_view path, std::int64_t ttl_ms, std::int32_t flags) {
  return make_request(opcode::create_ttl, wire::create_ttl_request{
                                              path, "", on_the_wire(open_to_all()), flags, ttl_ms});
}
request create_with(std::string_view path, const acl& access) {
  return create(path, "", mode::persistent, access);
}
request remove(std::string_view path, std::int32_t version) {
  return make_request(opcode::remove, path, version);
}
request set(std::string_view path, std::string_view data, std::int32_t version) {
  return make_request(opcode::set_data, path, data, version);
}
request set_acl(std::string_view path, const acl& access, std::int32_t version) {
  return make_request(opcode::set_acl, path, on_the_wire(access), version);
}
request check(std::string_view path, std::int32_t version) {
  return make_request(opcode::check, path, version);
}
request multi(const std::vector<request>& parts) { return group(opcode::multi, parts); }

request exists(std::string_view path, bool watch) {
  return make_request(opcode::exists, path, watch);
}
request get(std::string_view path, bool watch) {
  return make_request(opcode::get_data, path, watch);
}
request children(std::string_view path, bool watch) {
  return make_request(opcode::get_children, path, watch);
}
request children2(std::string_view path, bool watch) {
  return make_request(opcode::get_children2, path, watch);
}
request get_acl(std::string_view path) { return make_request(opcode::get_acl, path); }
request get_ephemerals(std::string_view prefix) {
  return make_request(opcode::get_ephemerals, prefix);
}
request get_all_children_number(std::string_view path) {
  return make_request(opcode::get_all_children_number, path);
}
request multi_read(const std::vector<request>& parts) { return group(opcode::multi_read, parts); }
request sync(std::string_view path) { return make_request(opcode::sync, path); }
request ping() { return {opcode::ping, {}, wire::special_xid::ping}; }
request who_am_i() { return {opcode::who_am_i, {}}; }

request add_persistent_watch(std::string_view path) {
  return make_request(opcode::add_watch, path, std::int32_t{0});
}
request add_recursive_watch(std::string_view path) {
  return make_request(opcode::add_watch, path, std::int32_t{1});
}
request check_watches(std::string_view path, std::int32_t type) {
  return make_request(opcode::check_watches, path, type);
}
request remove_watches(std::string_view path, std::int32_t type) {
  return make_request(opcode::remove_watches, path, type);
}
request set_watches(std::int64_t seen_zxid, const paths& data, const paths& exist,
                    const paths& child) {
  auto r = make_request(opcode::set_watches, seen_zxid, on_the_wire(data), on_the_wire(exist),
                        on_the_wire(child));
  r.xid = wire::special_xid::set_watches;
  return r;
}
request set_watches2(std::int64_t seen_zxid, const paths& data, const paths& exist,
                     const paths& child, const paths& persistent, const paths& recursive) {
  auto r = make_request(opcode::set_watches2, seen_zxid, on_the_wire(data), on_the_wire(exist),
                        on_the_wire(child), on_the_wire(persistent), on_the_wire(recursive));
  r.xid = wire::special_xid::set_watches;
  return r;
}

request auth(std::string_view scheme, std::string_view credentials) {
  auto r = make_request(opcode::auth, wire::auth_request{0, scheme, credentials});
  r.xid = wire::special_xid::auth;
  return r;
}
request close_session() { return {opcode::close_session, {}}; }

}  // namespace conclave::server_impl
