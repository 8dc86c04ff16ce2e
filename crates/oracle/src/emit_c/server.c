/* Answers requests on standard input until it ends. Numbers are in the machine's own order.
 *
 * Request: uint32 program, count, capacity, rounds; then `count` records.
 * Answer: uint64 finished, nanoseconds of CPU time for all rounds together; `finished` ends; then the targets, actions and
 * faults of the finished sources, and the labels of all records. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t cpu_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *room(size_t bytes) {
  void *memory = calloc(bytes + 1, 1);
  if (!memory) exit(2);
  return memory;
}

static void put(const void *from, size_t bytes) {
  if (bytes && fwrite(from, bytes, 1, stdout) != 1) exit(2);
}

/* Expands in batches of `capacity` as a search does, `rounds` times; the last round's first batch is the answer. */
int main(void) {
  uint32_t request[4];
  while (fread(request, sizeof request, 1, stdin) == 1) {
    const struct program *it = &programs[request[0]];
    size_t count = request[1], capacity = request[2], rounds = request[3];
    uint64_t *records = room(count * it->words * 8), *targets = room(capacity * it->words * 8);
    uint32_t *actions = room(capacity * 4);
    struct end *ends = room(capacity * sizeof *ends);
    struct fault *faults = room(capacity * sizeof *faults);
    if (count && fread(records, count * it->words * 8, 1, stdin) != 1) return 2;
    uint64_t begin = cpu_nanoseconds();
    for (size_t round = 1; round < rounds; round++) {
      for (size_t done = 0, now; done < count; done += now) {
        now = it->expand(records + done * it->words, count - done, capacity, targets, actions, ends, faults);
        if (!now) return 2;
      }
    }
    uint64_t spent = cpu_nanoseconds() - begin;
    size_t finished = it->expand(records, count, capacity, targets, actions, ends, faults);
    uint64_t answer[2] = {finished, spent};
    put(answer, sizeof answer);
    put(ends, finished * sizeof *ends);
    struct end last = finished ? ends[finished - 1] : (struct end){0, 0};
    put(targets, last.step * it->words * 8);
    put(actions, last.step * 4);
    put(faults, last.fault * sizeof *faults);
    for (size_t record = 0; record < count; record++) {
      uint64_t labels = it->label(records + record * it->words);
      put(&labels, 8);
    }
    fflush(stdout);
    free(records), free(targets), free(actions), free(ends), free(faults);
  }
  return 0;
}
