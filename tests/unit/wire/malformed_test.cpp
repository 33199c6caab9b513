// Every golden record, truncated at every byte and with extreme values for every length. The reader
// must report the error and never read out of bounds. The buffers have the exact size, so that
// AddressSanitizer detects such a read.

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "field_walker.hpp"
#include "golden_file.hpp"
#include "wire/multi.hpp"
#include "wire/records.hpp"

namespace conclave::wire {
namespace {

struct codec {
  std::function<bool(std::string_view)> reads;  // true if the record is valid and no byte is left
  std::function<std::vector<std::size_t>(std::string_view)> lengths;
};

template <class Record>
codec codec_of() {
  return {[](std::string_view bytes) {
            reader in{bytes};
            in.read<Record>();
            return in.ok() && in.at_end();
          },
          [](std::string_view bytes) {
            length_finder finder;
            finder(reader{bytes}.read<Record>());
            return finder.found();
          }};
}

codec multi_request_codec() {
  return {[](std::string_view bytes) {
            reader in{bytes};
            std::vector<multi_part> parts;
            return read_multi_request(in, parts) && in.ok() && in.at_end();
          },
          [](std::string_view bytes) {
            reader in{bytes};
            std::vector<multi_part> parts;
            read_multi_request(in, parts);
            length_finder finder;
            for (const auto& part : parts) {
              finder(multi_header{});
              std::visit(finder, part.body);
            }
            return finder.found();
          }};
}

codec multi_response_codec() {
  return {[](std::string_view bytes) {
            reader in{bytes};
            std::vector<multi_reply> answers;
            return read_multi_response(in, answers) && in.ok() && in.at_end();
          },
          [](std::string_view bytes) {
            reader in{bytes};
            std::vector<multi_reply> answers;
            read_multi_response(in, answers);
            length_finder finder;
            for (const auto& a : answers) {
              finder(multi_header{});
              if (a.type == opcode::error) finder(a.error);
              if (a.type == opcode::create) finder(a.path);
              if (a.type == opcode::create2) finder(a.path, a.stat);
              if (a.type == opcode::set_data) finder(a.stat);
              if (a.type == opcode::get_data) finder(a.data, a.stat);
              if (a.type == opcode::get_children) finder(a.names);
            }
            return finder.found();
          }};
}

const std::map<std::string, codec, std::less<>>& codecs() {
  static const std::map<std::string, codec, std::less<>> all{
      {"connect_request", codec_of<connect_request>()},
      {"connect_response", codec_of<connect_response>()},
      {"read_only_flag", codec_of<read_only_flag>()},
      {"request_header", codec_of<request_header>()},
      {"reply_header", codec_of<reply_header>()},
      {"watcher_event", codec_of<watcher_event>()},
      {"stat_record", codec_of<stat_record>()},
      {"acl_record", codec_of<acl_record>()},
      {"identity_record", codec_of<identity_record>()},
      {"create_request", codec_of<create_request>()},
      {"create_ttl_request", codec_of<create_ttl_request>()},
      {"path_version_request", codec_of<path_version_request>()},
      {"path_watch_request", codec_of<path_watch_request>()},
      {"set_data_request", codec_of<set_data_request>()},
      {"path_record", codec_of<path_record>()},
      {"set_acl_request", codec_of<set_acl_request>()},
      {"auth_request", codec_of<auth_request>()},
      {"path_type_request", codec_of<path_type_request>()},
      {"set_watches_request", codec_of<set_watches_request>()},
      {"set_watches2_request", codec_of<set_watches2_request>()},
      {"sasl_record", codec_of<sasl_record>()},
      {"create_response", codec_of<create_response>()},
      {"create2_response", codec_of<create2_response>()},
      {"stat_response", codec_of<stat_response>()},
      {"get_data_response", codec_of<get_data_response>()},
      {"get_acl_response", codec_of<get_acl_response>()},
      {"names_response", codec_of<names_response>()},
      {"get_children2_response", codec_of<get_children2_response>()},
      {"get_all_children_number_response", codec_of<get_all_children_number_response>()},
      {"who_am_i_response", codec_of<who_am_i_response>()},
      {"multi_header", codec_of<multi_header>()},
      {"multi_request", multi_request_codec()},
      {"multi_response", multi_response_codec()},
  };
  return all;
}

// A copy on the heap of exactly the same size.
class exact_buffer {
 public:
  explicit exact_buffer(std::string_view bytes)
      : size_{bytes.size()}, bytes_{std::make_unique<char[]>(size_)} {
    if (size_ != 0) std::memcpy(bytes_.get(), bytes.data(), size_);
  }
  std::string_view view() const { return {bytes_.get(), size_}; }
  void put(std::size_t at, std::int32_t value) {
    const auto encoded = big_endian(static_cast<std::uint32_t>(value));
    std::memcpy(bytes_.get() + at, &encoded, sizeof encoded);
  }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

void for_each_golden(const std::function<void(const std::string&, const codec&)>& f) {
  ASSERT_GT(golden().size(), 90u);
  for (const auto& [name, bytes] : golden()) {
    SCOPED_TRACE(name);
    const auto found = codecs().find(name.substr(0, name.find('/')));
    ASSERT_NE(found, codecs().end());
    f(bytes, found->second);
  }
}

TEST(malformed, every_record_type_has_golden_bytes) {
  std::map<std::string, int> seen;
  for (const auto& [name, bytes] : golden()) ++seen[name.substr(0, name.find('/'))];
  for (const auto& [name, unused] : codecs()) EXPECT_GT(seen[name], 0) << name;
}

TEST(malformed, complete_records_are_parsed) {
  for_each_golden([](const std::string& bytes, const codec& c) {
    EXPECT_TRUE(c.reads(exact_buffer{bytes}.view()));
  });
}

TEST(malformed, truncated_at_every_byte) {
  for_each_golden([](const std::string& bytes, const codec& c) {
    for (std::size_t n = 0; n < bytes.size(); ++n)
      EXPECT_FALSE(c.reads(exact_buffer{std::string_view{bytes}.substr(0, n)}.view())) << n;
  });
}

TEST(malformed, an_extra_byte_is_left_over) {
  for_each_golden([](const std::string& bytes, const codec& c) {
    EXPECT_FALSE(c.reads(exact_buffer{bytes + '\0'}.view()));
  });
}

TEST(malformed, extreme_lengths) {
  int tried = 0;
  for_each_golden([&](const std::string& bytes, const codec& c) {
    for (const auto at : c.lengths(bytes)) {
      const auto remaining = static_cast<std::int32_t>(bytes.size() - at - 4);
      for (const auto length : {-2, std::numeric_limits<std::int32_t>::min(),
                                std::numeric_limits<std::int32_t>::max(), remaining + 1}) {
        exact_buffer broken{bytes};
        broken.put(at, length);
        EXPECT_FALSE(c.reads(broken.view())) << length << " at " << at;
        ++tried;
      }
    }
  });
  EXPECT_GT(tried, 500);
}

TEST(malformed, random_lengths_do_not_read_out_of_bounds) {
  for_each_golden([&](const std::string& bytes, const codec& c) {
    for (const auto at : c.lengths(bytes)) {
      for (std::int32_t length = -1; length <= static_cast<std::int32_t>(bytes.size()); ++length) {
        exact_buffer broken{bytes};
        broken.put(at, length);
        c.reads(broken.view());  // may succeed or fail; AddressSanitizer detects a bad read
      }
    }
  });
}

}  // namespace
}  // namespace conclave::wire
