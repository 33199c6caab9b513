// The nodes that the workers use.
#pragma once

#include <cstddef>

namespace conclave::chaos {

inline constexpr const char* root = "/chaos";
inline constexpr const char* mutex_path = "/chaos/mutex";
inline constexpr const char* shared_path = "/chaos/shared";
inline constexpr const char* semaphore_path = "/chaos/semaphore";
inline constexpr const char* election_path = "/chaos/election";
inline constexpr const char* queue_path = "/chaos/queue";
inline constexpr const char* claims_path = "/chaos/claims";

inline constexpr std::size_t permits = 2;

}  // namespace conclave::chaos
