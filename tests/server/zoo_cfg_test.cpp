// A zoo.cfg written for Apache's server.
#include <fstream>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "support/certificates.hpp"
#include "support/four_letter_word.hpp"
#include "support/free_port.hpp"

namespace conclave::testing {
namespace {

class zoo_cfg : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::ofstream{folder.path() / "zoo.cfg"} << text;
    return folder.path() / "zoo.cfg";
  }
  // Starts a server, on another port if this one is in use.
  std::unique_ptr<serve_process> serve(const std::string& text) {
    for (int attempt = 1;; ++attempt) {
      try {
        return std::make_unique<serve_process>(argument_list{
            "--config", file(text + "\nclientPort=" + std::to_string(free_port()) + "\n")});
      } catch (const std::runtime_error&) {
        if (attempt == 5) throw;
      }
    }
  }
  finished_run refused(const std::string& text) {
    auto run = run_conclave({"serve", "--config", file(text)});
    EXPECT_EQ(run.status.code, 64) << run.text;
    return run;
  }

  temporary_directory folder;
  std::filesystem::path data = folder.path() / "data";
  std::string its_data = "dataDir=" + data.string() + "\n";
};

TEST_F(zoo_cfg, every_setting_is_used) {
  certificate_authority authority{folder.path(), "ca"};
  const auto tls = authority.issue("server", {"IP:127.0.0.1"});
  const auto mine = authority.issue("client", {});
  const auto server = serve(
      "# as an operator writes it\r\n\n"
      "  tickTime = 500 \r\n"
      "minSessionTimeout=3000\nmaxSessionTimeout=9000\n"
      "maxClientCnxns=7\nmaxCnxns=50\njute.maxbuffer=5000\n"
      "znode.container.checkIntervalMs=100\n"
      "clientPortAddress=127.0.0.1\nsecureClientPortAddress=127.0.0.1\nsecureClientPort=0\n"
      "4lw.commands.whitelist=ruok, conf,mntr\n"
      "DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=\n"
      "ssl.keyStore.location=" +
      tls.bundle.string() + "\nssl.keyStore.type=PEM\nssl.trustStore.location=" +
      authority.certificate().string() + "\nssl.clientAuth=need\n" + its_data);
  const auto conf = ask_server(server->port(), "conf");
  for (const auto* line : {"tickTime=500\n", "minSessionTimeout=3000\n", "maxSessionTimeout=9000\n",
                           "maxClientCnxns=7\n"})
    EXPECT_NE(conf.find(line), std::string::npos) << line << conf;
  EXPECT_NE(conf.find(its_data), std::string::npos) << conf;
  EXPECT_EQ(ask_server(server->port(), "ruok"), "imok");
  EXPECT_EQ(ask_server(server->port(), "stat"),
            "stat is not executed because it is not in the whitelist.\n");

  auto patient = with_timeout(2s);
  patient.connect_wait = wait_limit;
  client zk{server->tcp(), patient};
  EXPECT_EQ(zk.create("/container", "", create_mode::container).path, "/container");
  EXPECT_EQ(zk.session_timeout(), 3s);
  watch_recorder gone;
  ASSERT_TRUE(zk.exists("/container", gone.get()));
  zk.create("/container/child");
  zk.remove("/container/child");
  EXPECT_TRUE(gone.take()) << "checked every 100 ms";
  EXPECT_EQ(code_of([&] { zk.create("/too-large", std::string(5000, 'x')); }),
            errc::connection_loss);

  zk.create("/secret", "", create_options{create_mode::persistent, read_only_acl()});
  EXPECT_EQ(code_of([&] { zk.set("/secret", "x"); }), errc::no_auth);
  zk.add_auth(credentials{"digest", secret::from_memory("super:test")});
  zk.set("/secret", "x");

  client_options with_tls;
  with_tls.tls.emplace();
  with_tls.tls->ca_file = authority.certificate();
  {
    client other_client{"127.0.0.1:" + std::to_string(server->port(1)), with_tls};
    EXPECT_FALSE(other_client.wait_connected(300ms)) << "without a certificate";
  }
  with_tls.tls->certificate_file = mine.certificate;
  with_tls.tls->key_file = mine.key;
  client known{"127.0.0.1:" + std::to_string(server->port(1)), with_tls};
  EXPECT_TRUE(known.exists("/secret"));
  EXPECT_EQ(server->addresses().size(), 2u) << "no socket without a setting for it";
}

TEST_F(zoo_cfg, ignored_settings_are_reported_except_those_of_apaches_default_files) {
  const auto server = serve(
      "initLimit=10\nsyncLimit=5\nautopurge.purgeInterval=1\nadmin.enableServer=false\n"
      "snapCount=100\nforceSync=no\n"
      "tickTimes=500\nsnapshot.trust.empty=true\n4lw.commands.whitelist=*\n" +
      its_data);
  const auto said = server->output();
  EXPECT_NE(said.find("zoo.cfg: tickTimes has no effect on this server"), std::string::npos)
      << said;
  EXPECT_NE(said.find("zoo.cfg: snapshot.trust.empty has no effect on this server"),
            std::string::npos);
  for (const auto* usual : {"initLimit", "syncLimit", "autopurge", "admin", "snapCount", "force"})
    EXPECT_EQ(said.find(usual), std::string::npos) << said;
  EXPECT_NE(ask_server(server->port(), "stat").find("Mode: standalone"), std::string::npos);
}

// Compared with Apache ZooKeeper 3.8.0.
TEST_F(zoo_cfg, required_authentication_is_enforced) {
  constexpr std::int32_t session_closed_require_auth = -124;
  for (const auto* prefix : {"", "zookeeper."}) {
    const auto server = serve(its_data + prefix + "enforce.auth.enabled=true\n" + prefix +
                              "enforce.auth.schemes=digest\n");
    raw_session other_client{server->tcp()};
    ASSERT_TRUE(other_client.handshake(10'000));
    EXPECT_EQ(other_client.exists("/"), session_closed_require_auth) << prefix;
    EXPECT_TRUE(is_ended(other_client.link));
    client_options known;
    known.credentials.emplace_back("digest", secret::from_memory("ann:secret"));
    client zk{server->tcp(), known};
    EXPECT_TRUE(zk.exists("/")) << prefix;
  }
}

TEST_F(zoo_cfg, disabled_features_are_off) {
  for (const auto* prefix : {"", "zookeeper."}) {
    const auto server = serve(its_data + prefix + "DigestAuthenticationProvider.enabled=false\n" +
                              prefix + "extendedTypesEnabled=false\n");
    client zk{server->tcp()};
    const create_options with_ttl{create_mode::persistent_ttl, 1s};
    EXPECT_EQ(code_of([&] { zk.create("/ttl", "", with_ttl); }), errc::unimplemented) << prefix;
    EXPECT_EQ(code_of([&] {
                zk.add_auth(credentials{"digest", secret::from_memory("ann:secret")});
              }),
              errc::auth_failed)
        << prefix;
  }
}

TEST_F(zoo_cfg, unsupported_protection_is_refused) {
  for (const std::string prefix : {"", "zookeeper."}) {
    for (const auto* setting :
         {"sessionRequireClientSASLAuth=true", "requireClientAuthScheme=sasl",
          "authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
          "ssl.authProvider=x509", "ssl.crl=true", "ssl.ciphersuites=X", "jaasLoginRenew=1",
          "X509AuthenticationProvider.superUser=CN=me", "kerberos.removeHostFromPrincipal=true",
          "ssl.clientAuth=need", "some.future.clientAuthMode=strict", "fips-mode=true",
          "ensembleAuthName=x", "Enforce.Auth.Enabled=true"}) {
      const auto run = refused(its_data + "clientPort=0\n" + prefix + setting + "\n");
      const std::string name{setting, std::string_view{setting}.find('=')};
      EXPECT_TRUE(run.contains(name + " is a security setting that this server does not support"))
          << run.text;
    }
    for (const auto& [settings, why] : std::vector<std::pair<std::string, std::string>>{
             {"enforce.auth.enabled=true", "needs enforce.auth.schemes"},
             {"enforce.auth.enabled=yes", "enforce.auth.enabled must be true or false, not 'yes'"},
             {"enforce.auth.enabled=", "enforce.auth.enabled must be true or false, not ''"},
             {"enforce.auth.enabled=true\nenforce.auth.schemes=,", "needs enforce.auth.schemes"},
             {"enforce.auth.enabled=true\nenforce.auth.schemes=digest,sasl",
              "clients cannot authenticate by 'sasl'"},
             {"enforce.auth.enabled=true\nenforce.auth.schemes=digest,ip",
              "clients cannot authenticate by 'ip'"},
             {"enforce.auth.enabled=true\nenforce.auth.schemes=digest\n"
              "DigestAuthenticationProvider.enabled=false",
              "clients cannot authenticate by 'digest'"},
             {"ssl.keyStore.location=x\nssl.clientAuth=needed", "must be none, want or need"}}) {
      const auto run = refused(its_data + "clientPort=0\n" + prefix + settings + "\n");
      EXPECT_TRUE(run.contains(why)) << run.text;
    }
  }
}

TEST_F(zoo_cfg, settings_without_a_requirement_are_accepted) {
  const auto server =
      serve(its_data +
            "sessionRequireClientSASLAuth=false\nenforce.auth.enabled=false\nskipACL=yes\n"
            "ssl.quorum.keyStore.location=/x\nquorum.auth.enableSasl=false\naudit.enable=false\n");
  EXPECT_NE(server->output().find("zoo.cfg: skipACL has no effect on this server"),
            std::string::npos);
  client zk{server->tcp()};
  zk.create("/closed", "", create_options{create_mode::persistent, read_only_acl()});
  EXPECT_EQ(code_of([&] { zk.set("/closed", "x"); }), errc::no_auth) << "ACLs count";
}

TEST_F(zoo_cfg, four_letter_words_default_to_those_of_apache) {
  const auto refusal = [](const std::string& word) {
    return word + " is not executed because it is not in the whitelist.\n";
  };
  const auto usual = serve(its_data);
  EXPECT_NE(ask_server(usual->port(), "srvr").find("Mode: standalone"), std::string::npos);
  for (const std::string word : {"ruok", "stat", "mntr", "conf", "cons", "dump", "envi", "wchs"})
    EXPECT_EQ(ask_server(usual->port(), word), refusal(word));
  usual->kill();
  const auto listed = serve(its_data + "4lw.commands.whitelist=ruok\n");
  EXPECT_EQ(ask_server(listed->port(), "ruok"), "imok");
  EXPECT_NE(ask_server(listed->port(), "srvr").find("Mode: standalone"), std::string::npos);
  EXPECT_EQ(ask_server(listed->port(), "stat"), refusal("stat"));
}

TEST_F(zoo_cfg, flags_override_the_file) {
  const auto port = free_port();
  const temporary_directory other;
  serve_process server{{"--config",
                        file(its_data + "tickTime=500\n4lw.commands.whitelist=conf\nclientPort=" +
                             std::to_string(port) + "\n"),
                        "--data", other.path() / "d", "--listen", "0", "--tick", "300ms",
                        "--socket", other.path() / "s"}};
  EXPECT_NE(server.port(), port);
  EXPECT_EQ(server.socket_file(), other.path() / "s");
  EXPECT_NE(ask_server(server.port(), "conf").find("tickTime=300\n"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(data));
}

TEST_F(zoo_cfg, a_certificate_flag_keeps_required_client_certificates) {
  certificate_authority authority{folder.path(), "ca"};
  const auto old = authority.issue("old", {"IP:127.0.0.1"});
  const auto renewed = authority.issue("renewed", {"IP:127.0.0.1"});
  const auto mine = authority.issue("client", {});
  serve_process server{
      {"--config",
       file(its_data +
            "secureClientPort=0\nsecureClientPortAddress=127.0.0.1\n"
            "ssl.keyStore.location=" +
            old.bundle.string() + "\nssl.trustStore.location=" + authority.certificate().string() +
            "\nssl.clientAuth=need\n"),
       "--tls-cert", renewed.certificate.string(), "--tls-key", renewed.key.string()}};
  const auto address = "127.0.0.1:" + std::to_string(server.port());
  client_options with_tls;
  with_tls.tls.emplace();
  with_tls.tls->ca_file = authority.certificate();
  {
    client other_client{address, with_tls};
    EXPECT_FALSE(other_client.wait_connected(300ms)) << "without a certificate";
  }
  with_tls.tls->certificate_file = mine.certificate;
  with_tls.tls->key_file = mine.key;
  client known{address, with_tls};
  EXPECT_TRUE(known.exists("/"));
}

TEST_F(zoo_cfg, an_ensemble_is_refused) {
  for (const std::string setting : {"server.1=zk1:2888:3888", "dynamicConfigFile=/etc/zoo.dynamic",
                                    "peerType=observer", "group.1=1:2", "weight.1=1"}) {
    const auto run = refused(its_data + "clientPort=0\n" + setting + "\n");
    const auto name = setting.substr(0, setting.find('='));
    EXPECT_TRUE(run.contains("describes an ensemble (" + name + ")")) << run.text;
    EXPECT_TRUE(run.contains("run Apache ZooKeeper for an ensemble")) << run.text;
  }
  EXPECT_FALSE(std::filesystem::exists(data));
}

TEST_F(zoo_cfg, an_invalid_number_is_reported_with_its_name) {
  for (const auto* name :
       {"tickTime", "minSessionTimeout", "maxSessionTimeout", "maxClientCnxns", "maxCnxns",
        "jute.maxbuffer", "znode.container.checkIntervalMs", "clientPort", "secureClientPort"}) {
    const auto run = refused(its_data + name + "=12x\n");
    EXPECT_TRUE(run.contains(std::string{name} + " must be a number, not '12x'")) << run.text;
  }
  EXPECT_TRUE(refused(its_data + "clientPort=70000\n").contains("the highest port is 65535"));
  EXPECT_FALSE(std::filesystem::exists(data / "socket"));
}

TEST_F(zoo_cfg, a_setting_that_the_server_refuses_is_reported_with_its_name) {
  for (const auto* name :
       {"tickTime", "minSessionTimeout", "maxSessionTimeout", "znode.container.checkIntervalMs"}) {
    const auto run = refused(its_data + "clientPort=0\n" + name + "=0\n");
    EXPECT_TRUE(run.contains("zoo.cfg: " + std::string{name} + " must be at least 1, not 0"))
        << run.text;
  }
  const auto timeouts = refused(its_data + "clientPort=0\nminSessionTimeout=100000\n");
  EXPECT_TRUE(timeouts.contains(
      "zoo.cfg: minSessionTimeout (100000 ms) exceeds maxSessionTimeout (40000 ms)"))
      << timeouts.text;
  const auto authority =
      refused(its_data + "secureClientPort=0\nssl.keyStore.location=/missing.pem\n");
  EXPECT_TRUE(
      authority.contains("zoo.cfg: ssl.clientAuth=need, which is the default, needs "
                         "ssl.trustStore.location"))
      << authority.text;
  EXPECT_FALSE(std::filesystem::exists(data));
}

// Otherwise every connection would be without TLS and without client certificates.
TEST_F(zoo_cfg, tls_settings_without_an_address_for_tls_are_refused) {
  const auto run = refused(its_data +
                           "clientPort=0\nssl.keyStore.location=/missing.pem\n"
                           "ssl.trustStore.location=/missing.pem\nssl.clientAuth=need\n");
  EXPECT_TRUE(run.contains("zoo.cfg: ssl.keyStore.location has no effect without secureClientPort"))
      << run.text;
  const auto flags = run_conclave({"serve", "--durability", "none", "--listen", "127.0.0.1:0",
                                   "--tls-cert", "x", "--tls-key", "x"});
  EXPECT_EQ(flags.status.code, 64) << flags.text;
  EXPECT_TRUE(flags.contains("--tls-cert has no effect without --tls-listen")) << flags.text;
}

TEST_F(zoo_cfg, words_that_only_apache_knows_have_no_effect) {
  const auto server = serve("4lw.commands.whitelist=gtmk, ruok\n" + its_data);
  EXPECT_NE(
      server->output().find("zoo.cfg: the word 'gtmk' of 4lw.commands.whitelist has no effect"),
      std::string::npos);
  EXPECT_EQ(ask_server(server->port(), "ruok"), "imok");
}

TEST_F(zoo_cfg, a_backup_needs_a_socket) {
  const auto config = file(its_data + "clientPort=0\n");
  const auto copy = folder.path() / "copy.db";
  const auto run = run_conclave({"serve", "--config", config, "--backup", copy});
  EXPECT_EQ(run.status.code, 69) << run.text;
  EXPECT_TRUE(run.contains("start it with --socket PATH")) << run.text;
  const auto socket = (folder.path() / "s").string();
  const serve_process server{{"--config", config, "--socket", socket}};
  const auto with_socket =
      run_conclave({"serve", "--config", config, "--socket", socket, "--backup", copy});
  EXPECT_EQ(with_socket.status.code, 0) << with_socket.text;
  EXPECT_TRUE(std::filesystem::exists(copy));
}

TEST_F(zoo_cfg, an_invalid_line_is_reported_with_its_number) {
  const auto run = refused("# comment\n" + its_data + "tickTime 500\n");
  EXPECT_TRUE(run.contains("zoo.cfg:3: write NAME=VALUE, not 'tickTime 500'")) << run.text;
  const auto missing = run_conclave({"serve", "--config", folder.path() / "missing"});
  EXPECT_EQ(missing.status.code, 64);
  EXPECT_TRUE(missing.contains("cannot read " + (folder.path() / "missing").string()))
      << missing.text;
  const auto a_folder = run_conclave({"serve", "--config", folder.path()});
  EXPECT_EQ(a_folder.status.code, 64) << "a folder is no configuration: " << a_folder.text;
}

}  // namespace
}  // namespace conclave::testing
