// Error codes, conditions and exceptions.

#include "conclave/error.hpp"

#include <cerrno>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace conclave {
namespace {

const std::vector<errc> all{errc::system_error,
                            errc::runtime_inconsistency,
                            errc::data_inconsistency,
                            errc::connection_loss,
                            errc::marshalling_error,
                            errc::unimplemented,
                            errc::operation_timeout,
                            errc::bad_arguments,
                            errc::no_node,
                            errc::no_auth,
                            errc::bad_version,
                            errc::no_children_for_ephemerals,
                            errc::node_exists,
                            errc::not_empty,
                            errc::session_expired,
                            errc::invalid_acl,
                            errc::auth_failed,
                            errc::session_moved,
                            errc::not_read_only,
                            errc::ephemeral_on_local_session,
                            errc::no_watcher,
                            errc::request_timeout,
                            errc::reconfig_disabled,
                            errc::session_closed_require_sasl_auth,
                            errc::quota_exceeded,
                            errc::throttled,
                            errc::not_connected,
                            errc::closed,
                            errc::backlog_full,
                            errc::invalid_path,
                            errc::invalid_argument,
                            errc::too_large,
                            errc::protocol_error,
                            errc::would_deadlock,
                            errc::forked,
                            errc::not_supported,
                            errc::bad_connect_string,
                            errc::tls_failed,
                            errc::bad_secret,
                            errc::reply_too_large,
                            errc::lock_busy,
                            errc::lock_lost,
                            errc::waiter_node_deleted,
                            errc::layout_mismatch,
                            errc::upgrade_refused,
                            errc::permits_mismatch,
                            errc::deadline_passed,
                            errc::node_deleted};

const error_code aborted{ECANCELED, boost::system::system_category()};

TEST(errc, every_code_has_its_own_message) {
  std::set<std::string> messages;
  for (const auto e : all) {
    const error_code ec = e;
    EXPECT_TRUE(ec);
    EXPECT_EQ(ec.category().name(), std::string{"conclave"});
    EXPECT_NE(ec.message(), "unknown error") << ec.value();
    EXPECT_TRUE(messages.insert(ec.message()).second) << ec.message();
  }
  EXPECT_EQ(error_code(-9999, error_category()).message(), "unknown error");
}

TEST(errc, codes_have_the_numbers_of_the_server) {
  EXPECT_EQ(error_code{errc::no_node}.value(), -101);
  EXPECT_EQ(error_code{errc::node_exists}.value(), -110);
  EXPECT_EQ(error_code{errc::not_empty}.value(), -111);
  EXPECT_EQ(error_code{errc::session_expired}.value(), -112);
  EXPECT_EQ(error_code{errc::connection_loss}.value(), -4);
}

TEST(condition, outcome_unknown) {
  const std::set<errc> meant{errc::connection_loss, errc::operation_timeout, errc::request_timeout};
  for (const auto e : all)
    EXPECT_EQ(error_code{e} == condition::outcome_unknown, meant.contains(e))
        << static_cast<int>(e);
  EXPECT_TRUE(aborted == condition::outcome_unknown);
  EXPECT_FALSE(error_code{} == condition::outcome_unknown);
}

TEST(condition, session_dead) {
  const std::set<errc> meant{errc::session_expired, errc::auth_failed, errc::closed,
                             errc::session_closed_require_sasl_auth};
  for (const auto e : all)
    EXPECT_EQ(error_code{e} == condition::session_dead, meant.contains(e)) << static_cast<int>(e);
  EXPECT_FALSE(aborted == condition::session_dead);
  EXPECT_FALSE(error_code{} == condition::session_dead);
}

TEST(condition, ignores_codes_of_other_categories) {
  for (const int value : {-4, -112, 2, EPERM, ETIMEDOUT}) {
    const error_code other{value, boost::system::system_category()};
    EXPECT_FALSE(other == condition::outcome_unknown);
    EXPECT_FALSE(other == condition::session_dead);
  }
}

TEST(errc, converts_to_a_std_error_code) {
  const std::error_code ec = error_code{errc::no_node};
  EXPECT_EQ(ec.value(), -101);
  EXPECT_EQ(ec.category().name(), std::string{"conclave"});
  EXPECT_EQ(ec.message(), "no such node");
  EXPECT_TRUE(ec == std::error_code{error_code{errc::no_node}});
  EXPECT_FALSE(ec == std::error_code{error_code{errc::no_auth}});
}

TEST(condition, matches_a_std_error_code) {
  const std::error_condition unknown = make_error_condition(condition::outcome_unknown);
  const std::error_condition dead = make_error_condition(condition::session_dead);
  const std::error_code loss = error_code{errc::connection_loss};
  EXPECT_TRUE(loss == unknown);
  EXPECT_FALSE(loss == dead);
  const std::error_code expired = error_code{errc::session_expired};
  EXPECT_TRUE(expired == dead);
  EXPECT_FALSE(expired == unknown);
}

TEST(condition, has_a_message) {
  EXPECT_EQ(make_error_condition(condition::outcome_unknown).message(), "the outcome is unknown");
  EXPECT_EQ(make_error_condition(condition::session_dead).message(), "the session has ended");
  EXPECT_EQ(condition_category().name(), std::string{"conclave.condition"});
}

TEST(error, contains_the_code_and_the_failed_operation) {
  try {
    throw error{errc::no_node, "get /a"};
  } catch (const std::system_error& e) {
    EXPECT_STREQ(e.what(), "get /a: no such node");
    EXPECT_EQ(e.code().value(), -101);
  }
  const error e{errc::session_expired, "create /a"};
  EXPECT_TRUE(e.code() == errc::session_expired);
  EXPECT_TRUE(e.code() == condition::session_dead);
}

TEST(error, contains_a_system_error) {
  const error e{error_code{ECONNREFUSED, boost::system::system_category()}, "connect"};
  EXPECT_TRUE(e.code() == boost::system::errc::connection_refused);
  EXPECT_TRUE(static_cast<const std::system_error&>(e).code() == std::errc::connection_refused);
}

}  // namespace
}  // namespace conclave
