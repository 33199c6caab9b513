// `conclave znode create`
#include <iostream>

#include "cli/commands/znode/data_source.hpp"
#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/nodes/acl_text.hpp"
#include "cli/nodes/subtree.hpp"
#include "cli/run/loop.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/node.hpp"

namespace conclave::cli::znode {
namespace {

using namespace std::chrono_literals;

struct create_flags : common_flags {
  data_source data;
  std::string ttl, acl;
  enum class kind { persistent, ephemeral, container } what = kind::persistent;
  bool parents = false, hold = false, sequential = false;

  create_options options() const {
    create_options o;
    if (!acl.empty()) o.acl = parse_acl(acl);
    if (what == kind::ephemeral)
      o.mode = sequential ? create_mode::ephemeral_sequential : create_mode::ephemeral;
    else if (what == kind::container)
      o.mode = create_mode::container;
    else if (!ttl.empty())
      o.mode = sequential ? create_mode::persistent_sequential_ttl : create_mode::persistent_ttl;
    else if (sequential)
      o.mode = create_mode::persistent_sequential;
    if (!ttl.empty()) o.ttl = parse_duration(ttl);
    return o;
  }
};

// The user need not know about /conclave. For a relative path with one name, only /conclave can be
// missing, so it is created even without -p.
bool only_root_can_be_missing(const create_flags& f) {
  return f.path.front() != '/' && f.path.find('/') == std::string::npos;
}

create_result create_node(client& zk, const create_flags& f, const std::string& data) {
  const auto path = f.node();
  const auto options = f.options();
  for (int attempt = 1;; ++attempt) try {
      return zk.create(path, data, options);
    } catch (const error& e) {
      if (e.code() == errc::unimplemented && !f.ttl.empty())
        throw failure{failed, path +
                                  ": this server has no TTL nodes; start Apache ZooKeeper with "
                                  "-Dzookeeper.extendedTypesEnabled=true"};
      if (e.code() != errc::no_node) throw;
      if (!f.parents && !only_root_can_be_missing(f))
        throw failure{failed, path + ": the parent node does not exist; use -p to create it"};
      // The server may have removed an empty container in between, so try again.
      if (attempt == 10) throw;
      make_parents(zk, path);
    }
}

void show(const create_flags& f, const create_result& created, std::int64_t session) {
  if (!f.json) {
    std::cout << created.path << std::endl;
    return;
  }
  json::object o{{"path", created.path}, {"stat", stat_json(created.stat)}};
  if (f.hold) add_session(o, session);
  print(o);
}

// Keeps an ephemeral node until a signal arrives or the node is removed.
class ephemeral_node_run {
 public:
  ephemeral_node_run(const create_flags& f, std::string data)
      : flags_{f},
        data_{std::move(data)},
        connection_{with_expiry_callback(f), connection::without_waiting{}} {}

  int run() {
    loop_.on_signal([this](int s) {
      stop_on_ctrl_z(s);
      if (!is_ending_signal(s)) return;
      // Once the node exists, a signal is the normal end. Before that, a signal is an interruption.
      created_.path.empty() ? loop_.end_by(s) : loop_.end(ok);
    });
    loop_.on_turn([this] {
      if (!created_.path.empty()) return loop::clock::time_point::max();
      if (!connection_.connected()) return loop::clock::now() + 50ms;
      create();
      return loop::clock::time_point::max();
    });
    return loop_.run();
  }

 private:
  server_address with_expiry_callback(const create_flags& f) {
    auto at = find_server(f.connect);
    at.options.on_session_event = [this](const session_event& e) {
      if (e.type == session_event::kind::expired)
        loop_.post([this] { end_as_lost("its session has expired"); });
    };
    return at;
  }

  void create() {
    created_ = create_node(connection_.zk(), flags_, data_);
    show(flags_, created_, connection_.zk().session_id());
    watch_node();
  }

  void watch_node() {
    auto on_event = [this](const watch_event&) { loop_.post([this] { watch_node(); }); };
    connection_.zk().async_exists(
        created_.path, on_event, [this](error_code ec, std::optional<node_stat> s) {
          if (!ec && (!s || s->czxid != created_.stat.czxid))
            loop_.post([this] { end_as_lost("another client has removed it"); });
          // Other errors concern the session, which reports its end itself.
        });
  }

  void end_as_lost(const char* why) {
    std::cerr << "conclave: " << created_.path << " no longer exists: " << why << "\n";
    loop_.end(lost);
  }

  const create_flags& flags_;
  const std::string data_;
  create_result created_;
  loop loop_;  // must be created before any other thread; the connection starts one
  connection connection_;
};

int create(create_flags& f, const invocation&) {
  const bool is_ephemeral = f.what == create_flags::kind::ephemeral;
  if (is_ephemeral && !f.hold)
    throw failure{usage,
                  "an ephemeral node is removed with its session, which ends with this command; "
                  "use --hold to keep both until a signal"};
  if (f.hold && !is_ephemeral) throw failure{usage, "--hold needs an ephemeral node (-e)"};
  f.options();  // throws for wrong flags, before a server is contacted
  auto data = f.data.given() ? f.data.read() : std::string{};
  if (f.hold) return ephemeral_node_run{f, std::move(data)}.run();
  connection c{f.connect};
  show(f, create_node(c.zk(), f, data), c.zk().session_id());
  return ok;
}

}  // namespace

void describe_create(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<create_flags>();
  app.description("Create a node and print its path.");
  app.footer(
      "Examples:\n"
      "  conclave znode create -p /config/colour blue\n"
      "  conclave znode create -s /jobs/job- --file job.json\n"
      "  conclave znode create -e --hold members/$(hostname)");
  add_common_flags(app, *flags);
  add_data_flags(app, flags->data);
  app.add_flag("-p,--parents", flags->parents, "also create missing parent nodes");
  auto* const ephemeral = app.add_flag_callback(
      "-e,--ephemeral", [f = flags.get()] { f->what = create_flags::kind::ephemeral; },
      "remove the node at the end of the session; needs --hold");
  app.add_flag("--hold", flags->hold, "keep the session and the node until a signal");
  app.add_flag("-s,--sequential", flags->sequential,
               "the server appends a sequence number to the name");
  auto* const container = app.add_flag_callback(
      "--container", [f = flags.get()] { f->what = create_flags::kind::container; },
      "the server removes the node some time after its last child was removed");
  container->excludes(ephemeral)->excludes("--sequential");
  app.add_option(
         "--ttl", flags->ttl,
         "the server removes the node if it has no children and has not changed for this time")
      ->type_name("TIME")
      ->excludes(ephemeral)
      ->excludes(container);
  app.add_option("--acl", flags->acl, "ACL of the node, in the form that `znode acl` prints")
      ->type_name("ACL");
  add_json_flag(app, *flags, "one line of JSON: path and stat");
  when_used(app, call, flags, create);
}

}  // namespace conclave::cli::znode
