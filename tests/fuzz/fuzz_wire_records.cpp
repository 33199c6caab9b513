// The first byte selects a record type, and the rest is decoded. If all of it is decoded, the
// encoded record has the same size. Decoding and encoding it again does not change it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.hpp"
#include "wire/multi.hpp"
#include "wire/records.hpp"

namespace conclave::wire {
namespace {

template <class Record>
void round_trip(std::string_view bytes) {
  reader in{bytes};
  const auto record = in.read<Record>();
  if (!in.ok()) {
    REQUIRE(in.at_end());
    return;
  }
  if (!in.at_end()) return;
  std::string first;
  writer{first}(record);
  REQUIRE(first.size() ==
          bytes.size());  // the bytes may differ: a flag becomes 1, a null list empty

  reader again{first};
  const auto same = again.read<Record>();
  REQUIRE(again.ok() && again.at_end());
  std::string second;
  writer{second}(same);
  REQUIRE(first == second);
}

template <class... Records>
void pick(std::uint8_t which, std::string_view bytes) {
  using function = void (*)(std::string_view);
  constexpr function all[] = {&round_trip<Records>...};
  all[which % sizeof...(Records)](bytes);
}

}  // namespace
}  // namespace conclave::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave::wire;
  if (size == 0) return 0;
  pick<connect_request, connect_response, read_only_flag, request_header, reply_header,
       watcher_event, stat_record, acl_record, identity_record, create_request, create_ttl_request,
       path_version_request, path_watch_request, set_data_request, path_record, set_acl_request,
       auth_request, path_type_request, set_watches_request, set_watches2_request, sasl_record,
       create_response, create2_response, stat_response, get_data_response, get_acl_response,
       names_response, get_children2_response, get_all_children_number_response, who_am_i_response,
       multi_header>(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
