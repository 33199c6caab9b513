// The disk reports errors. Acknowledged changes are kept. After a failed sync, nothing more is
// acknowledged, because Linux drops the unwritten pages and the next sync succeeds.

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "faulty_disk/faulty_disk.hpp"
#include "history.hpp"
#include "server/store/store_error.hpp"

namespace conclave::testing {
namespace {

using act = faulty_disk::act;
using outcome = faulty_disk::outcome;

struct failure_tally {
  int faults = 0;
  int commits_refused = 0;
};

// Fails the n-th step of that kind, for every n, and then turns off the power.
failure_tally fail_each(act kind, const history& played) {
  failure_tally out;
  for (std::uint64_t n = 1;; ++n) {
    faulty_disk disk;
    std::uint64_t seen = 0;
    disk.plan = [&](const faulty_disk::step& s) {
      return s.what == kind && ++seen == n ? outcome::broken : outcome::done;
    };
    history::progress done;
    try {
      server_impl::sqlite_store store{"/data", history::on(disk)};
      while (done.acknowledged < played.size()) {
        done.under_way = true;
        store.commit(played.commit(done.acknowledged));
        done.under_way = false;
        ++done.acknowledged;
      }
    } catch (const server_impl::disk_full&) {
      ADD_FAILURE() << "an I/O error is not a full disk";
    } catch (const server_impl::store_error&) {
      ++out.commits_refused;
    }
    if (seen < n) return out;
    ++out.faults;
    disk.plan = nullptr;
    for (const std::uint64_t seed : {std::uint64_t{0}, n}) {
      disk.power_cycle(seed);
      const auto what = played.find_error(disk, done);
      EXPECT_EQ(what, "") << "failure " << n << ", " << done.acknowledged << " acknowledged";
    }
  }
}

TEST(broken_disk, every_sync) {
  const auto found = fail_each(act::sync, history{5, 25});
  EXPECT_GT(found.faults, 40);
  EXPECT_GT(found.commits_refused, 30);
}

TEST(broken_disk, every_write) {
  const auto found = fail_each(act::write, history{5, 12});
  EXPECT_GT(found.faults, 60);
  EXPECT_GT(found.commits_refused, 60);
}

TEST(broken_disk, every_creation_and_removal) {
  EXPECT_GT(fail_each(act::create, history{5, 3}).faults, 2);
  EXPECT_GT(fail_each(act::remove, history{5, 3}).faults, 1);
}

TEST(broken_disk, nothing_is_acknowledged_after_a_failed_sync) {
  const history played{5, 3};
  faulty_disk disk;
  server_impl::sqlite_store store{"/data", history::on(disk)};
  store.commit(played.commit(0));
  disk.plan = [](const faulty_disk::step& s) {
    return s.what == act::sync ? outcome::broken : outcome::done;
  };
  EXPECT_THROW(store.commit(played.commit(1)), server_impl::store_error);
  disk.plan = nullptr;  // the disk reports no more errors
  for (int i = 0; i < 3; ++i) {
    try {
      store.commit(played.commit(1));
      FAIL() << "acknowledged";
    } catch (const server_impl::disk_full&) {
      FAIL() << "must not be reported as a full disk";
    } catch (const server_impl::store_error& error) {
      EXPECT_EQ(std::string{error.what()},
                "cannot write /data/conclave.db (disk I/O error, Input/output error); check the "
                "disk, then start the server again");
    }
  }
  EXPECT_THROW(store.backup("/backup"), server_impl::store_error);
}

// The earlier commit is safe in the log. The next one must not be acknowledged.
TEST(broken_disk, a_failed_sync_during_a_checkpoint) {
  const history played{5, 40};
  faulty_disk disk;
  history::progress done;
  {
    server_impl::sqlite_store store{"/data", history::on(disk)};
    disk.plan = [](const faulty_disk::step& s) {
      return s.what == act::sync && s.file == "/data/conclave.db" ? outcome::broken : outcome::done;
    };
    try {
      for (; done.acknowledged < played.size(); ++done.acknowledged) {
        store.commit(played.commit(done.acknowledged));
      }
      FAIL() << "there was no checkpoint";
    } catch (const server_impl::store_error&) {
    }
    disk.plan = nullptr;
  }
  EXPECT_GT(done.acknowledged, 0U);
  disk.power_cycle(0);
  EXPECT_EQ(played.find_error(disk, done), "");
}

}  // namespace
}  // namespace conclave::testing
