/* What programs printed as C stand on. Words of a record come most significant first; bits are counted from the low end. */
#include <stddef.h>
#include <stdint.h>

struct end { uint32_t step, fault; };
struct fault { uint32_t action, kind, start, end; };

struct program {
  size_t words;
  size_t (*expand)(const uint64_t *, size_t, size_t, uint64_t *, uint32_t *, struct end *, struct fault *);
  uint64_t (*label)(const uint64_t *);
};

static inline __attribute__((always_inline)) uint64_t rd(const uint64_t *w, unsigned count, unsigned low, unsigned width) {
  if (width == 0) return 0;
  unsigned at = count - 1 - low / 64, shift = low % 64;
  uint64_t value = w[at] >> shift;
  if (shift + width > 64) value |= w[at - 1] << (64 - shift);
  return value & (UINT64_MAX >> (64 - width));
}

static inline __attribute__((always_inline)) void wr(uint64_t *w, unsigned count, unsigned low, unsigned width, uint64_t code) {
  if (width == 0) return;
  uint64_t mask = UINT64_MAX >> (64 - width);
  unsigned at = count - 1 - low / 64, shift = low % 64;
  w[at] = (w[at] & ~(mask << shift)) | (code & mask) << shift;
  if (shift + width > 64) {
    unsigned moved = 64 - shift;
    w[at - 1] = (w[at - 1] & ~(mask >> moved)) | (code & mask) >> moved;
  }
}

/* The value of the domain that is congruent modulo its size. */
static inline __attribute__((always_inline)) int64_t wrapped(int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return value;
  uint64_t span = (uint64_t)high - (uint64_t)low;
  if ((span & (span + 1)) == 0) return (int64_t)((uint64_t)low + (((uint64_t)value - (uint64_t)low) & span));
  __int128 size = (__int128)span + 1, offset = ((__int128)value - low) % size;
  if (offset < 0) offset += size;
  return (int64_t)(low + offset);
}
