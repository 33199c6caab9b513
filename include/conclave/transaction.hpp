// Transactions of writes, and groups of reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conclave/error.hpp"
#include "conclave/node.hpp"

namespace conclave {

namespace recipes {
class hold_state;
}

// A transaction executes several writes atomically: all of them or none.
//   client.commit(transaction{}
//                     .check("/config", 7)
//                     .set("/config/size", "12")
//                     .remove("/config/old"));
class transaction {
 public:
  struct create_part {
    std::string path;
    std::string data;
    create_options options;
  };
  struct remove_part {
    std::string path;
    std::int32_t version;
  };
  struct set_part {
    std::string path;
    std::string data;
    std::int32_t version;
  };
  struct check_part {
    std::string path;
    std::int32_t version;
  };
  using part = std::variant<create_part, remove_part, set_part, check_part>;

  transaction() = default;

  transaction& create(std::string path, std::string data = {}, create_options options = {}) {
    parts_.push_back(create_part{std::move(path), std::move(data), std::move(options)});
    return *this;
  }
  transaction& remove(std::string path, std::int32_t expected_version = any_version) {
    parts_.push_back(remove_part{std::move(path), expected_version});
    return *this;
  }
  transaction& set(std::string path, std::string data,
                   std::int32_t expected_version = any_version) {
    parts_.push_back(set_part{std::move(path), std::move(data), expected_version});
    return *this;
  }
  // Fails the transaction unless the node exists and has this version.
  transaction& check(std::string path, std::int32_t expected_version = any_version) {
    parts_.push_back(check_part{std::move(path), expected_version});
    return *this;
  }

  // Appends the parts and holds of another transaction.
  transaction& append(const transaction& more) {
    parts_.insert(parts_.end(), more.parts_.begin(), more.parts_.end());
    holds_.insert(holds_.end(), more.holds_.begin(), more.holds_.end());
    return *this;
  }

  const std::vector<part>& parts() const noexcept { return parts_; }
  bool empty() const noexcept { return parts_.empty(); }
  std::size_t size() const noexcept { return parts_.size(); }

  // The holds that client::commit() requires. See hold::fenced().
  using holds = std::vector<std::shared_ptr<const recipes::hold_state>>;
  const holds& under() const noexcept { return holds_; }

 private:
  friend class hold;
  std::vector<part> parts_;
  holds holds_;
};

// The result of one part of a transaction.
struct part_result {
  // Set for the failed part. Later parts have errc::runtime_inconsistency. Earlier parts have no
  // error, although they were rolled back.
  error_code ec;
  std::string path;  // of a created node
  node_stat stat;    // only for a node whose data was set
};

struct transaction_result {
  std::int64_t zxid = 0;           // the same for all parts, and the czxid of created nodes
  std::vector<part_result> parts;  // in the order of the transaction

  // The index of the part that made the transaction fail. Returns nullopt if it succeeded.
  std::optional<std::size_t> failed_part() const noexcept {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (parts[i].ec) return i;
    return std::nullopt;
  }
};

// Thrown by client::commit() if the server refuses the transaction. code() returns the error of the
// failed part.
class transaction_error : public error {
 public:
  transaction_error(error_code ec, const std::string& what, transaction_result r,
                    std::size_t failed)
      : error{ec, what}, result_{std::move(r)}, failed_{failed} {}

  const transaction_result& result() const noexcept { return result_; }
  std::size_t failed_part() const noexcept { return failed_; }  // the index of the part

 private:
  transaction_result result_;
  std::size_t failed_;
};

// Several reads in one request. Each read has its own result.
class read_group {
 public:
  struct get_part {
    std::string path;
  };
  struct children_part {
    std::string path;
  };
  using part = std::variant<get_part, children_part>;

  read_group() = default;

  read_group& get(std::string path) {
    parts_.push_back(get_part{std::move(path)});
    return *this;
  }
  read_group& children(std::string path) {
    parts_.push_back(children_part{std::move(path)});
    return *this;
  }

  const std::vector<part>& parts() const noexcept { return parts_; }
  std::size_t size() const noexcept { return parts_.size(); }

 private:
  std::vector<part> parts_;
};

struct read_result {
  error_code ec;                   // the error of this read
  std::string data;                // get
  node_stat stat;                  // get
  std::vector<std::string> names;  // children
};

}  // namespace conclave
