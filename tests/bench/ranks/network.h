// Measures what messages between two processes of MPI cost.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum { kNetworkLengths = 12 };  // of messages: 1, 4, 16 bytes and so on

// Times in seconds.
typedef struct network_sample {
  double one_way[kNetworkLengths];  // of a message of each length, half of a ping-pong
  double overhead;                  // in which the processor starts a message
  double gap;                       // of each message in a burst
} network_sample;

// Both processes call this together. It takes a few milliseconds. The sample of rank 0 counts.
void measure_network(network_sample* sample);

#ifdef __cplusplus
}
#endif
