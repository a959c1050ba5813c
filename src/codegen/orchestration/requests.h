#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kdl::codegen {

/// A request of a program to the runtime.
enum class Request : uint8_t {
  Allocate,
  Apart,
  Assert,
  At,
  BeginCall,
  Copy,
  CopyBack,
  Cores,
  Distribute,
  DistributeBlocks,
  Expect,
  ExpectApart,
  ExpectOn,
  Fetch,
  Fill,
  FinishFetches,
  Footprint,
  Instances,
  Launch,
  Mark,
  Move,
  OwnedBlockEnd,
  OwnedBlockFirst,
  OwnedBlocks,
  OwnedEnd,
  OwnedFirst,
  Part,
  RankCount,
  RankEnd,
  RankFirst,
  Read,
  Require,
  Reserve,
  Restore,
  Rewritten,
  StartFetches,
  Transfer,
  UseQueue,
  View,
  Wait,
  Write,
  WriteCheckpoint,
};

/// The names of the C++ member or function and of the C function for a request. The first arguments of the C
/// function are the program and the object of the request.
struct RequestNames {
  Request request;
  std::string_view cpp;
  std::string_view c;
};
inline constexpr RequestNames kRequestNames[] = {
    {Request::Allocate, "Allocate", "kdl_allocate"},
    {Request::Apart, "Apart", "kdl_apart"},
    {Request::Assert, "kdl::Assert", "kdl_assert"},
    {Request::At, "At", "kdl_at"},
    {Request::BeginCall, "kdl::RunOverRanks", "kdl_begin_call"},
    {Request::Copy, "Copy", "kdl_copy_array"},
    {Request::CopyBack, "CopyBack", "kdl_copy_array_back"},
    {Request::Cores, "cores", "kdl_cores"},
    {Request::Distribute, "Add", "kdl_distribute"},
    {Request::DistributeBlocks, "AddBlocks", "kdl_distribute_blocks"},
    {Request::Expect, "Expect", "kdl_expect"},
    {Request::ExpectApart, "ExpectApart", "kdl_expect_apart"},
    {Request::ExpectOn, "ExpectOn", "kdl_expect_on"},
    {Request::Fetch, "Fetch", "kdl_fetch"},
    {Request::Fill, "Fill", "kdl_fill_array"},
    {Request::FinishFetches, "FinishFetches", "kdl_finish_fetches"},
    {Request::Footprint, "Footprint", "kdl_footprint"},
    {Request::Instances, "Instances", "kdl_instances"},
    {Request::Launch, "Launch", "kdl_launch"},
    {Request::Mark, "Mark", "kdl_mark"},
    {Request::Move, "Move", "kdl_move_array"},
    {Request::OwnedBlockEnd, "OwnedBlockEnd", "kdl_owned_block_end"},
    {Request::OwnedBlockFirst, "OwnedBlockFirst", "kdl_owned_block_first"},
    {Request::OwnedBlocks, "OwnedBlocks", "kdl_owned_blocks"},
    {Request::OwnedEnd, "OwnedEnd", "kdl_owned_end"},
    {Request::OwnedFirst, "OwnedFirst", "kdl_owned_first"},
    {Request::Part, "Part", "kdl_part"},
    {Request::RankCount, "count", "kdl_rank_count"},
    {Request::RankEnd, "end", "kdl_rank_end"},
    {Request::RankFirst, "first", "kdl_rank_first"},
    {Request::Read, "Read", "kdl_read"},
    {Request::Require, "kdl::Require", "kdl_require"},
    {Request::Reserve, "Reserve", "kdl_reserve"},
    {Request::Restore, "Restore", "kdl_restore"},
    {Request::Rewritten, "Rewritten", "kdl_rewritten"},
    {Request::StartFetches, "StartFetches", "kdl_start_fetches"},
    {Request::Transfer, "Transfer", "kdl_transfer_array"},
    {Request::UseQueue, "Use", "kdl_use_queue"},
    {Request::View, "View", "kdl_view"},
    {Request::Wait, "Wait", "kdl_wait"},
    {Request::Write, "Write", "kdl_write"},
    {Request::WriteCheckpoint, "Write", "kdl_write_checkpoint"},
};
constexpr const RequestNames& NamesOf(Request request) {
  return kRequestNames[static_cast<size_t>(request)];
}
static_assert(std::ranges::all_of(kRequestNames,
                                  [](const RequestNames& names) {
                                    return &names == &NamesOf(names.request);
                                  }),
              "the names are in the order of the requests");

}  // namespace kdl::codegen
