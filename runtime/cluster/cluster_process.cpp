#include "cluster/cluster_process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "cluster/source_line.h"
#include "system/child.h"
#include "system/files.h"

namespace kdl::runtime {

namespace {

// The maximum number of bytes of a cluster's output that are kept.
constexpr std::int64_t kMostSaid = 4096;

// The longest time that may pass between two checks for progress.
constexpr std::chrono::seconds kLongestLook{1};

}  // namespace

std::string ClusterProcess::Name() const {
  return Concat("cluster ", number_, " of machine '", description_.name, "'");
}

kdl_cluster_mailbox& ClusterProcess::mailbox() const {
  return *reinterpret_cast<kdl_cluster_mailbox*>(memory_.At(mailbox_));
}

Error ClusterProcess::Start(const ClusterDescription& description, ClusterMemory& memory, int image,
                            std::int64_t number, std::int64_t most_events,
                            std::unique_ptr<ClusterProcess>* started) {
  std::unique_ptr<ClusterProcess> made(new ClusterProcess(description, memory, image, number));
  made->mailbox_ = memory.Take(sizeof(kdl_cluster_mailbox));
  if (made->mailbox_ == 0) return OutOfMemory();
  kdl_cluster_mailbox& mailbox = made->mailbox();
  mailbox = {};
  mailbox.memory_bytes = static_cast<std::uint64_t>(memory.bytes());
  mailbox.scratchpad_bytes = static_cast<std::uint64_t>(description.scratchpad_bytes);
  mailbox.stack_bytes = static_cast<std::uint64_t>(description.stack_bytes);
  mailbox.workers = static_cast<std::uint64_t>(description.workers());
  mailbox.workgroups =
      description.blocks == ClusterBlocks::Core ? static_cast<std::uint64_t>(description.cores) : 1;
  mailbox.polls = made->polls() ? 1 : 0;
  mailbox.cluster = static_cast<std::uint64_t>(number);
  mailbox.clusters = static_cast<std::uint64_t>(description.clusters);
  if (most_events > 0) {
    made->events_ = memory.Take(most_events * static_cast<std::int64_t>(sizeof(kdl_cluster_event)));
    if (made->events_ == 0) return OutOfMemory();
    mailbox.events = static_cast<std::uint64_t>(made->events_);
    made->most_events_ = mailbox.most_events = static_cast<std::uint64_t>(most_events);
  }
  KDL_RETURN_IF_ERROR(made->Spawn());
  *started = std::move(made);
  return nullptr;
}

Error ClusterProcess::Spawn() {
  const Line bell;
  const Line life;
  bell_ = bell.own;
  life_ = life.own;
  said_ = NamelessFile("kdl-cluster-said", kMostSaid);
  if (said_ < 0 || !SealFile(said_, false) || bell.theirs < 0 || life.theirs < 0)
    return Fail(KDL_ERROR_DEVICE, Name(), " has no socket: ", std::strerror(errno));
  Child child;
  child.Give(bell.theirs, kInput);
  child.Give(life.theirs, kLifeFile);
  child.Give(said_, kOutput);
  child.Give(said_, kErrors);
  child.Give(memory_.file(), kMemoryFile);
  child.Give(image_, kImageFile);
  std::vector<std::string> words;
  for (const std::string& word : description_.run)
    words.push_back(word == "{image}" ? kImagePath : word);
  words.push_back(Concat(memory_.bytes()));
  words.push_back(Concat(mailbox_));
  const int failed = child.Start(words, &process_);
  if (failed == 0) {
    EndWith(life, process_);
    return nullptr;
  }
  return Fail(KDL_ERROR_NOT_FOUND, Name(), " cannot be started with ", words[0], ": ",
              std::strerror(failed));
}

ClusterProcess::~ClusterProcess() {
  if (process_ > 0) EndProcess(process_);
  for (int file : {bell_, life_, said_}) {
    if (file >= 0) CloseFile(file);
  }
  if (mailbox_ != 0) memory_.Release(mailbox_);
  if (events_ != 0) memory_.Release(events_);
}

void ClusterProcess::Ring(std::int64_t call) {
  mailbox().call = static_cast<std::uint64_t>(call);
  mailbox().status = kdl_cluster_none;
  // A cluster that sees the new number also sees everything that was written before it.
  __atomic_store_n(&mailbox().number, ++calls_, __ATOMIC_SEQ_CST);
  if (polls()) return;
  SendByte(bell_);  // if the cluster is dead, WaitForAll reports that
}

// Whether the mailbox of a cluster that polls says that its call is done, or contains an invalid value. In a
// valid mailbox, `done` is the number of the last call or of the call before it.
bool ClusterProcess::SaysDone() const {
  if (!polls()) return false;
  const std::uint64_t done = __atomic_load_n(&mailbox().done, __ATOMIC_ACQUIRE);
  if (done == calls_)
    return __atomic_load_n(&mailbox().status, __ATOMIC_ACQUIRE) != kdl_cluster_none;
  return done + 1 != calls_;
}

// Returns the first line of the process's output, as a suffix for a message.
std::string ClusterProcess::LastWords() const {
  const std::string words = FirstLine(said_, 200);
  return words.empty() ? "" : "; it said: " + words;
}

// Returns what the cluster reported about why it ended, or an empty string if it reported nothing.
std::string ClusterProcess::Fault() const {
  const kdl_cluster_mailbox& said = mailbox();
  switch (__atomic_load_n(&said.fault, __ATOMIC_ACQUIRE)) {
    case kdl_cluster_beyond_scratchpad:
      return Concat("accessed byte ", static_cast<std::int64_t>(said.fault_address),
                    " of a scratchpad of ", description_.scratchpad_bytes, " bytes");
    case kdl_cluster_beyond_stack:
      return Concat("needed more than its stack of ", description_.stack_bytes, " bytes");
    case kdl_cluster_no_memory:
      return Concat("accessed address ", said.fault_address, ", where there is no memory,");
    case kdl_cluster_bad_instruction:
      return "executed an invalid instruction";
    default:
      return "";
  }
}

Error ClusterProcess::Died(const std::string& what) {
  // The process may still run if it only closed its end of the connection.
  const std::string end = EndProcess(process_);
  process_ = -1;
  if (const std::string fault = Fault(); !fault.empty()) {
    const kdl_cluster_mailbox& said = mailbox();
    const std::string line = SourceLine(description_, image_, said.fault_instruction);
    return Fail(KDL_ERROR_DEVICE, Name(), ", thread ", said.fault_worker, " of core ",
                said.fault_core, ", ", fault, line.empty() ? "" : " at ", line, " while it ", what);
  }
  return Fail(KDL_ERROR_DEVICE, Name(), " ", end, " while it ", what, LastWords());
}

Error ClusterProcess::CheckAnswer(const std::string& what) const {
  const kdl_cluster_mailbox& answer = mailbox();
  // The cluster writes `done` last, so everything else that it has written is visible, too.
  const std::uint64_t done = __atomic_load_n(&answer.done, __ATOMIC_ACQUIRE);
  if (answer.abi_hash != kdl_cluster_abi_hash) {
    return Fail(KDL_ERROR_INVALID_ARGUMENT, "the image for machine '", description_.name,
                "' was built for another version of the runtime: it has ABI ", answer.abi_hash,
                ", but this is ", kdl_cluster_abi_hash, "; build it again");
  }
  if (answer.status == kdl_cluster_ready && done == calls_) return nullptr;
  if (answer.status == kdl_cluster_no_entry)
    return Fail(KDL_ERROR_INTERNAL, "the image has no kernel that ", Name(), " can run: it ", what);
  if (answer.status == kdl_cluster_no_scratchpad) {
    return Fail(KDL_ERROR_OUT_OF_MEMORY, Name(), " has ", description_.launch_scratchpad_bytes(),
                " bytes of scratchpad for a core, fewer than the kernel was compiled for: it ",
                what);
  }
  if (answer.status == kdl_cluster_no_workers) {
    return Fail(
        KDL_ERROR_INVALID_ARGUMENT, Name(), " has workgroups of ", description_.workers(),
        " threads, fewer than the kernel was compiled for; build it for this description: it ",
        what);
  }
  return Fail(KDL_ERROR_DEVICE, Name(), " has written invalid data to its mailbox while it ", what,
              ": status ", answer.status, ", call ", done, " of ", calls_);
}

void ClusterProcess::TakeCounts(ClusterCounts* counts) {
  kdl_cluster_mailbox& counted = mailbox();
  counts->copies += std::exchange(counted.copies, 0);
  counts->copied_bytes += std::exchange(counted.copied_bytes, 0);
  counts->barriers += std::exchange(counted.barriers, 0);
  counts->scratchpad_peak = std::max(counts->scratchpad_peak, counted.scratchpad_peak);
}

std::vector<kdl_cluster_event> ClusterProcess::Events() const {
  if (events_ == 0) return {};
  const auto* first = reinterpret_cast<const kdl_cluster_event*>(memory_.At(events_));
  return {first, first + std::min(mailbox().event_count, most_events_)};
}

std::uint64_t ClusterProcess::LostEvents() const {
  const std::uint64_t count = mailbox().event_count;
  return events_ == 0 || count < most_events_ ? 0 : count - most_events_;
}

void ClusterProcess::Began() {
  beat_ = __atomic_load_n(&mailbox().heartbeat, __ATOMIC_RELAXED);
  beaten_ = std::chrono::steady_clock::now();
}

// Whether the time since the cluster's last progress is within the deadline.
bool ClusterProcess::GetsOn() {
  if (beat_ != __atomic_load_n(&mailbox().heartbeat, __ATOMIC_RELAXED)) Began();
  return std::chrono::steady_clock::now() - beaten_ <
         std::chrono::seconds(description_.deadline_seconds);
}

// Called when the cluster has sent a byte or closed the connection. A byte means that the cluster has
// answered.
Error ClusterProcess::Answer(const std::string& what) {
  if (!TakeByte(bell_)) return Died(what);
  return CheckAnswer(what);
}

Error ClusterProcess::WaitForAll(std::span<const std::unique_ptr<ClusterProcess>> clusters,
                                 const std::string& what) {
  int look_ms = 100;       // interval between checks for progress
  std::vector<int> bells;  // negative for a cluster that has answered
  for (const auto& cluster : clusters) {
    cluster->Began();
    bells.push_back(cluster->bell_);
    if (cluster->polls()) look_ms = 1;
  }
  for (std::size_t left = clusters.size(); left > 0;) {
    const auto looked = std::chrono::steady_clock::now();
    const std::vector<bool> rung = Rung(bells, look_ms);
    // If this process itself was suspended, for example by ^Z, its clusters may have been suspended, too.
    // Restart their deadlines.
    const bool was_away = std::chrono::steady_clock::now() - looked > kLongestLook;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      ClusterProcess& cluster = *clusters[c];
      if (bells[c] < 0) continue;
      if (was_away) cluster.Began();
      if (rung[c]) {
        KDL_RETURN_IF_ERROR(cluster.Answer(what));
        bells[c] = -1;
        --left;
      } else if (cluster.SaysDone()) {
        KDL_RETURN_IF_ERROR(cluster.CheckAnswer(what));
        bells[c] = -1;
        --left;
      } else if (!cluster.GetsOn()) {
        return Fail(KDL_ERROR_DEVICE, cluster.Name(), " has made no progress for ",
                    cluster.description_.deadline_seconds, " s while it ", what,
                    "; it was stopped");
      }
    }
  }
  return nullptr;
}

}  // namespace kdl::runtime
