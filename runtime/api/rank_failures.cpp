#include "api/rank_failures.h"

#include <cstdint>
#include <string>
#include <utility>

#include "core/text.h"
#include "kdl/checkpoint_text.hpp"
#include "kdl/first_and_others.hpp"

namespace kdl::runtime {

namespace {

struct ErrorHeader {
  std::int64_t code;
  std::int64_t bytes;  // of the message
};

// Processes that have failed by themselves come first, then those that ended because another one had failed.
std::uint64_t OrderOf(const kdl_transport& transport, const kdl_error* own) {
  const auto rank = static_cast<std::uint64_t>(transport.rank);
  const auto count = static_cast<std::uint64_t>(transport.count);
  if (own == nullptr) return 2 * count + rank;
  return kdl_error_code(own) == KDL_ERROR_CANCELLED ? count + rank : rank;
}

// Is not 0 if there is an error.
std::uint64_t ChecksumOf(const kdl_error* own) {
  if (own == nullptr) return 0;
  return checkpoints::ChecksumOf(Concat(kdl_error_code(own), " ", kdl_error_message(own))) | 1;
}

Error SendToOthers(const kdl_transport& transport, const void* data, std::int64_t bytes) {
  Error failed;
  for (std::int64_t other = 0; other < transport.count && !failed; ++other)
    if (other != transport.rank)
      failed = Error(transport.send(transport.state, other, ranks::kEndTag, data, bytes));
  Error waited(transport.wait_all(transport.state));
  return failed ? std::move(failed) : std::move(waited);
}

Error ReceiveFrom(const kdl_transport& transport, std::int64_t from, void* data,
                  std::int64_t bytes) {
  KDL_RETURN_IF_ERROR(Error(transport.receive(transport.state, from, ranks::kEndTag, data, bytes)));
  return Error(transport.wait_all(transport.state));
}

}  // namespace

void AddFailure(const kdl_transport& transport, const kdl_error* own,
                std::vector<Extremes>& values) {
  values.push_back(OwnExtremes(transport, OrderOf(transport, own)));
  values.push_back(OwnExtremes(transport, ChecksumOf(own)));
}

Error CommonFailure(const kdl_transport& transport, std::span<const Extremes> combined, Error own) {
  const auto& [order, checksum] = std::pair(combined[0], combined[1]);
  if (!checksum.differ()) return own;
  const std::int64_t from = order.has_least;
  ErrorHeader header = {};
  std::string message;
  if (from == transport.rank) {
    message = Concat(kdl_error_message(own.get()), " (in process ", from, ")");
    header = {kdl_error_code(own.get()), std::ssize(message)};
    KDL_RETURN_IF_ERROR(SendToOthers(transport, &header, sizeof header));
    KDL_RETURN_IF_ERROR(SendToOthers(transport, message.data(), header.bytes));
  } else {
    KDL_RETURN_IF_ERROR(ReceiveFrom(transport, from, &header, sizeof header));
    message.resize(static_cast<std::size_t>(header.bytes));
    KDL_RETURN_IF_ERROR(ReceiveFrom(transport, from, message.data(), header.bytes));
  }
  return Fail(static_cast<kdl_code>(header.code), message);
}

}  // namespace kdl::runtime
