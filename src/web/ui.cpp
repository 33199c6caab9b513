#include "web/ui.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "web/access.hpp"
#include "web/assets.hpp"
#include "web/http_server.hpp"
#include "web/json.hpp"
#include "web/live_model.hpp"
#include "web/metrics_cache.hpp"
#include "web/views.hpp"

namespace conclave::web {
namespace {

using namespace std::chrono_literals;

http_reply text_reply(unsigned status, std::string text) {
  http_reply r;
  r.response.status = status;
  r.response.body = share(std::move(text));
  return r;
}

http_reply json_reply(unsigned status, const json::object& o) {
  auto r = text_reply(status, to_text(o) + "\n");
  r.response.content_type = "application/json";
  return r;
}

const char* content_type_of(std::string_view name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/html; charset=utf-8";
}

struct file {
  std::string path;
  std::string content_type;
  shared_text content;
};

std::vector<file> all_files() {
  std::vector<file> files;
  for (const auto& a : all_assets()) {
    std::string path{"/"};
    if (a.name != "index.html") path += a.name;
    files.push_back({std::move(path), content_type_of(a.name), share(std::string{a.content})});
  }
  return files;
}

// Ends the stream when the session of its request ends.
class session_events final : public event_source {
 public:
  session_events(std::unique_ptr<event_source> source, access& guard, http_request request)
      : source_{std::move(source)}, guard_{guard}, request_{std::move(request)} {}

  shared_text next() override { return source_->next(); }
  bool has_ended() override { return !guard_.is_signed_in(request_, now()); }

 private:
  const std::unique_ptr<event_source> source_;
  access& guard_;
  const http_request request_;
};

}  // namespace

struct ui::state {
  state(client& zk, const ui_options& o)
      : allows_actions{o.allow_actions},
        // Browsers send a cookie to all ports of a host, so each page needs a name of its own.
        guard{{o.token, o.host_names, "conclave_session_" + random_text(4)}},
        model{zk, {o.paths, o.layouts, o.read_server, o.read_session_ends}, [this] { notify(); }},
        addresses{o.read_addresses, {5s, 60s}, [this] { notify(); }},
        streams{model, addresses, {o.servers, o.paths, o.allow_actions}} {
    http_limits limits;
    limits.max_connections = o.max_connections;
    limits.max_event_streams =
        std::min(limits.max_event_streams, o.max_connections - o.max_connections / 8);
    auto started = std::make_unique<http_server>(
        o.address, o.port, [this](const http_request& r) { return answer(r); }, limits);
    const std::lock_guard lock{mutex};
    server = std::move(started);
  }
  ~state() {
    // The server's thread uses the model, and the model's threads use the server.
    std::unique_ptr<http_server> ended;
    {
      const std::lock_guard lock{mutex};
      ended = std::move(server);
    }
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  void notify() {
    const std::lock_guard lock{mutex};
    if (server) server->notify();
  }

  http_reply answer(const http_request& r) {
    if (!guard.allows_host(r))
      return text_reply(421,
                        "this host name is not allowed; add it with --host-name (conclave serve: "
                        "--http-host-name), or use the numeric address\n");
    const bool reads = r.method == "GET" || r.method == "HEAD";
    if (reads) {
      if (r.path == "/healthz") return text_reply(200, "ok\n");
      if (r.path == "/readyz") return readiness();
      for (const auto& f : files)
        if (f.path == r.path) {
          http_reply to;
          to.response.content_type = f.content_type;
          to.response.body = f.content;
          return to;
        }
    }
    if (!access::is_same_site(r)) return text_reply(403, "requests of other sites are refused\n");
    if (r.path == "/metrics" || r.path.starts_with("/api/")) return answer_program(r, reads);
    return text_reply(reads ? 404 : 405, reads ? "not found\n" : "method not allowed\n");
  }

  http_reply readiness() const {
    const bool is_ready = model.connection().is_connected && model.state()->is_complete;
    return is_ready ? text_reply(200, "ready\n")
                    : text_reply(503, "not connected to ZooKeeper, or the tree is not read yet\n");
  }

  http_reply answer_program(const http_request& r, bool reads) {
    const auto time = now();
    if (r.path == "/api/sign-in") return sign_in(r, time);
    const bool is_signed_in = guard.is_signed_in(r, time);
    if (r.path == "/api/session" && reads)
      return json_reply(
          200, json::object{{"signed_in", is_signed_in}, {"needs_token", guard.needs_sign_in()}});
    if (!is_signed_in) {
      auto refused = text_reply(401, "sign in first, or send Authorization: Bearer TOKEN\n");
      refused.response.headers.emplace_back("WWW-Authenticate", "Bearer");
      refused.response.delayed = !r.authorization.empty();  // against guessing
      return refused;
    }
    if (reads) {
      if (r.path == "/metrics") {
        http_reply to;
        to.response.body = metrics.text(*model.state(), model.connection(), time);
        to.response.content_type = "text/plain; version=0.0.4; charset=utf-8";
        return to;
      }
      if (r.path == "/api/events") return events(r);
      return text_reply(404, "not found\n");
    }
    if (r.method != "POST") return text_reply(405, "method not allowed\n");
    if (auto refused = refuse_action(r)) return std::move(*refused);
    if (r.path == "/api/sign-out") {
      auto to = json_reply(200, json::object{{"signed_in", false}});
      to.response.headers.emplace_back("Set-Cookie", guard.sign_out(r));
      notify();  // ends the event streams of this session
      return to;
    }
    if (r.path == "/api/revoke") return revoke(r);
    return text_reply(404, "not found\n");
  }

  // Another site can make a browser send a POST, but not with this type, and not with our origin.
  static std::optional<http_reply> refuse_action(const http_request& r) {
    if (r.content_type != "application/json") return text_reply(415, "send application/json\n");
    if (!access::is_same_origin(r)) return text_reply(403, "requests of other sites are refused\n");
    return {};
  }

  http_reply sign_in(const http_request& r, moment time) {
    if (r.method != "POST") return text_reply(405, "method not allowed\n");
    if (auto refused = refuse_action(r)) return std::move(*refused);
    if (!guard.is_token(string_member(r.body, "token"))) {
      auto refused = json_reply(401, json::object{{"signed_in", false}});
      refused.response.delayed = true;
      return refused;
    }
    auto to = json_reply(200, json::object{{"signed_in", true}});
    to.response.headers.emplace_back("Set-Cookie", guard.sign_in(r, time));
    return to;
  }

  http_reply events(const http_request& r) {
    const auto view = query_value(r.query, "view");
    http_reply to;
    if (view == "overview") to.events = streams.overview();
    if (view == "graph") to.events = streams.graph();
    if (view == "server") to.events = streams.server();
    if (view == "recipe")
      to.events = streams.recipe(query_value(r.query, "path"), query_value(r.query, "layout"),
                                 query_value(r.query, "kind"));
    if (!to.events) return text_reply(404, "unknown view\n");
    to.events = std::make_unique<session_events>(std::move(to.events), guard, r);
    return to;
  }

  http_reply revoke(const http_request& r) {
    if (!allows_actions)
      return text_reply(403,
                        "actions are not allowed; start with --allow-actions (conclave serve: "
                        "--http-allow-actions)\n");
    auto node = string_member(r.body, "node");
    if (node.empty()) return text_reply(400, "send {\"node\": PATH}\n");
    model.ask_to_release(std::move(node));
    return json_reply(202, json::object{{"accepted", true}});
  }

  const bool allows_actions;
  access guard;           // used only on the server's thread
  metrics_cache metrics;  // likewise
  const std::vector<file> files = all_files();
  std::mutex mutex;
  std::unique_ptr<http_server> server;
  live_model model;
  address_query addresses;
  event_streams streams;
};

ui::ui(client& zk, const ui_options& options) : state_{std::make_unique<state>(zk, options)} {}
ui::~ui() = default;

std::string ui::address() const { return state_->server->address(); }

std::string generate_token() { return random_text(16); }

}  // namespace conclave::web
