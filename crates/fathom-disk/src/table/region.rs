//! How are values found, put and moved within one stretch of buckets?
//!
//! A region is a quotiented hash table with buckets of whole cache lines: the bucket gives the leading bits of a value,
//! its slot the others. A value that finds its home full goes on to the next bucket, and its tag says how far it went.
//! Where it meets a value that went less far, it takes that one's slot and the other goes on (Robin Hood hashing), so
//! that distances stay within a tag's reach at loads of 0.9. Without that rule a run of seven full buckets, common at a
//! load of 0.75, would force the region to grow.
//!
//! Nothing is ever deleted, so slots fill from the front. A search ends at a bucket with a free slot, or with a value
//! nearer to its home than the sought one would be; most read one bucket.

use super::layout::{Layout, PADDING, Place, TAG_BITS, Widths};
use crate::intrinsics::{LANES, equal_lanes, lesser_lanes, prefetch};

/// What became of a value that was to be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Present,
    Inserted,
    /// The region is as full as it may be: it must grow first.
    Full,
}

/// One stretch of buckets. Owns its bytes; the table charges them, and knows how many values it holds.
#[derive(Debug)]
pub(super) struct Region {
    bytes: Vec<u8>,
    /// Where the first whole cache line of `bytes` begins.
    start: usize,
    layout: Layout,
    /// A value that was moved on until its tag could not say how far. It belongs to the region, which takes no other
    /// before it has grown.
    homeless: Option<Box<Homeless>>,
}

/// A value outside the buckets.
#[derive(Debug)]
struct Homeless {
    value: u64,
    partial: u64,
    whole: Vec<u8>,
}

/// Cache lines begin at multiples of this.
const ALIGNMENT: usize = 64;
/// One bucket further from home, in a tag.
const STEP: u16 = 1 << TAG_BITS;
/// Buckets that are asked for ahead of a value that is moved on.
const CHAIN: usize = 4;

impl Region {
    /// A region without bytes; the first insertion finds it full.
    pub(super) fn empty(widths: Widths) -> Region {
        Region { bytes: Vec::new(), start: 0, layout: Layout::smallest(widths), homeless: None }
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The layout this region would grow to. `None`: every value has a bucket already.
    pub(super) fn next_layout(&self) -> Option<Layout> {
        if self.bytes.is_empty() { Some(self.layout) } else { self.layout.larger() }
    }

    /// How many values it takes before it grows.
    pub(super) fn room(&self) -> usize {
        if self.bytes.is_empty() { 0 } else { self.layout.values_max }
    }

    /// The smallest layout beyond its own that takes so many values, or the largest there is. `None`: it has that already.
    pub(super) fn layout_for(&self, values: usize) -> Option<Layout> {
        let mut layout = self.next_layout()?;
        while layout.values_max < values
            && let Some(larger) = layout.larger()
        {
            layout = larger;
        }
        Some(layout)
    }

    /// Bytes that [`Region::grown`] allocates for a layout, and holds besides while it runs.
    pub(super) fn bytes_for(layout: &Layout) -> (usize, usize) {
        (layout.bytes() + ALIGNMENT, layout.buckets)
    }

    /// A region of a larger layout with the same values. `None` if some value finds no room, which the next layout may cure.
    pub(super) fn grown(&self, layout: Layout) -> Option<Region> {
        let bytes = vec![0; layout.bytes() + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT) % ALIGNMENT;
        let mut region = Region { bytes, start, layout, homeless: None };
        // Values come almost in the order of their new homes, most of which have room: counting the slots used spares
        // reading back tags that were just written, which stalls.
        let mut used = vec![0u8; layout.buckets];
        self.for_each(|value, partial, whole| {
            let place = layout.place(value, partial);
            let slot = usize::from(used[place.home]);
            let filled = if slot < layout.slots {
                let here = &mut region.bytes[start + place.home * layout.bucket_bytes..];
                fill_slot(here, &layout, slot, place.tag, place.head);
                let at = entry_offset(&layout, slot) + layout.head_bytes;
                here[at..at + whole.len()].copy_from_slice(whole);
                place.home
            } else if region.homeless.is_none() {
                region.insert_moving(place.home, place.tag, place.head, whole.to_vec()).unwrap_or(0)
            } else {
                0
            };
            used[filled] = used[filled].wrapping_add(1);
        });
        region.homeless.is_none().then_some(region)
    }

    /// Asks for the bucket of a value.
    #[inline(always)]
    pub(super) fn prefetch(&self, value: u64) {
        let layout = &self.layout;
        let base = self.start + layout.home(value) * layout.bucket_bytes;
        prefetch(&self.bytes, base);
        // The other half of a wide bucket, or the next bucket: leaving it to the searches that go on costs 7 %.
        prefetch(&self.bytes, base + ALIGNMENT);
    }

    /// Whether a value is here; `rest` is what its rest is after the partial word.
    #[inline(always)]
    pub(super) fn contains(&self, value: u64, partial: u64, rest: &[u64]) -> bool {
        if self.bytes.is_empty() {
            return false;
        }
        let place = self.layout.place(value, partial);
        search(&self.bytes[self.start..], &self.layout, &place, rest).is_none()
            || self.is_homeless(value, partial, rest)
    }

    /// Inserts a value unless it is here; `held` is how many there are.
    #[inline(always)]
    pub(super) fn insert(&mut self, held: &mut usize, value: u64, partial: u64, rest: &[u64]) -> Outcome {
        if self.bytes.is_empty() {
            return Outcome::Full;
        }
        let layout = &self.layout;
        let place = layout.place(value, partial);
        let bytes = &mut self.bytes[self.start..];
        let Some((bucket, tag)) = search(bytes, layout, &place, rest) else { return Outcome::Present };
        if *held >= layout.values_max || self.homeless.is_some() {
            return if self.is_homeless(value, partial, rest) { Outcome::Present } else { Outcome::Full };
        }
        *held += 1;
        let here = &mut bytes[bucket * layout.bucket_bytes..];
        if !is_full(here, layout) {
            let slot = first_free(here, layout);
            fill_slot(here, layout, slot, tag, place.head);
            write_words(here, layout, slot, rest);
        } else {
            self.insert_moving(bucket, tag, place.head, bytes_of(rest));
        }
        Outcome::Inserted
    }

    /// Calls `visit` with each value, the partial word of its rest, and the bytes of the whole words of its rest.
    #[inline(always)]
    pub(super) fn for_each(&self, mut visit: impl FnMut(u64, u64, &[u8])) {
        let layout = &self.layout;
        let buckets = if self.bytes.is_empty() { 0 } else { layout.buckets };
        for bucket in 0..buckets {
            let bytes = &self.bytes[self.start + bucket * layout.bucket_bytes..];
            for slot in 0..layout.slots {
                let tag = load_tag(bytes, slot);
                if tag == 0 {
                    break;
                }
                let entry = entry_offset(layout, slot);
                let (value, partial) = layout.value_at(bucket, tag, load_head(bytes, layout, entry));
                visit(value, partial, whole_words(bytes, layout, entry));
            }
        }
        if let Some(homeless) = &self.homeless {
            visit(homeless.value, homeless.partial, &homeless.whole);
        }
    }

    /// Puts a value where it may take a slot from another one, and that one further, until a free slot ends it: the bucket
    /// of that slot, or `None` when the last one moved became homeless. The one that goes on is the nearest to its home.
    #[inline(never)]
    fn insert_moving(
        &mut self,
        mut bucket: usize,
        mut tag: u16,
        mut head: u64,
        mut whole: Vec<u8>,
    ) -> Option<usize> {
        let layout = &self.layout;
        // Chains are several buckets long where a region is nearly full; their lines are asked for at once.
        let from = self.start + bucket * layout.bucket_bytes;
        (1..CHAIN).for_each(|step| prefetch(&self.bytes, from + step * layout.bucket_bytes));
        loop {
            let base = self.start + bucket * layout.bucket_bytes;
            prefetch(&self.bytes, base + CHAIN * layout.bucket_bytes);
            let bytes = &mut self.bytes[base..];
            if !is_full(bytes, layout) {
                let slot = first_free(bytes, layout);
                write_slot(bytes, layout, slot, tag, head);
                let at = entry_offset(layout, slot) + layout.head_bytes;
                bytes[at..at + whole.len()].copy_from_slice(&whole);
                return Some(bucket);
            }
            if let Some(slot) = nearest_home(bytes, layout, tag) {
                let entry = entry_offset(layout, slot);
                let moved = (load_tag(bytes, slot), load_head(bytes, layout, entry));
                write_slot(bytes, layout, slot, tag, head);
                let at = entry + layout.head_bytes;
                whole.swap_with_slice(&mut bytes[at..at + 8 * layout.widths.whole_words]);
                (tag, head) = moved;
            }
            if usize::from(tag >> TAG_BITS) > layout.displacement_max {
                let (value, partial) = layout.value_at(bucket, tag, head);
                self.homeless = Some(Box::new(Homeless { value, partial, whole }));
                return None;
            }
            tag += STEP;
            bucket = next(bucket, layout);
        }
    }

    #[inline(always)]
    fn is_homeless(&self, value: u64, partial: u64, rest: &[u64]) -> bool {
        match &self.homeless {
            None => false,
            Some(other) => {
                other.value == value && other.partial == partial && rest_equals(&other.whole, 0, rest)
            }
        }
    }
}

/// Looks for a value. `None`: it is there. Otherwise where the search ended: the bucket, and the value's tag there.
#[inline(always)]
fn search(bytes: &[u8], layout: &Layout, place: &Place, rest: &[u64]) -> Option<(usize, u16)> {
    let mut bucket = place.home;
    let mut tag = place.tag;
    for _ in 0..layout.displacement_max {
        let here = &bytes[bucket * layout.bucket_bytes..];
        if find(here, layout, tag, place.head, rest) {
            return None;
        }
        if !is_full(here, layout) || nearer_home(here, layout, tag) != 0 {
            return Some((bucket, tag));
        }
        tag += STEP;
        bucket = next(bucket, layout);
    }
    let found = find(&bytes[bucket * layout.bucket_bytes..], layout, tag, place.head, rest);
    (!found).then_some((bucket, tag))
}

/// Whether a bucket holds this tag with this head and rest.
#[inline(always)]
fn find(bytes: &[u8], layout: &Layout, tag: u16, head: u64, rest: &[u64]) -> bool {
    let mut mask = over_bucket(bytes, layout, |tags| equal_lanes(tags, tag));
    while mask != 0 {
        let entry = entry_offset(layout, mask.trailing_zeros() as usize);
        if load_head(bytes, layout, entry) == head && rest_equals(bytes, entry + layout.head_bytes, rest) {
            return true;
        }
        mask &= mask - 1;
    }
    false
}

/// The slots of a full bucket whose values are nearer to their homes than one with this tag.
#[inline(always)]
fn nearer_home(bytes: &[u8], layout: &Layout, tag: u16) -> u32 {
    let bound = tag & !(STEP - 1);
    // At home nothing is nearer.
    if bound == STEP { 0 } else { over_bucket(bytes, layout, |tags| lesser_lanes(tags, bound)) }
}

/// Of the slots that [`nearer_home`] finds, one whose value is nearest of all.
fn nearest_home(bytes: &[u8], layout: &Layout, tag: u16) -> Option<usize> {
    for step in 2..=tag >> TAG_BITS {
        let mask = nearer_home(bytes, layout, step << TAG_BITS);
        if mask != 0 {
            return Some(mask.trailing_zeros() as usize);
        }
    }
    None
}

/// Applies a test of sixteen tags to all tags of a bucket.
#[inline(always)]
fn over_bucket(bytes: &[u8], layout: &Layout, test: impl Fn(&[u8; 2 * LANES]) -> u32) -> u32 {
    let group = |offset: usize| -> &[u8; 2 * LANES] {
        bytes[offset..offset + 2 * LANES].try_into().expect("a bucket has whole groups of tags")
    };
    let mut mask = test(group(0));
    if layout.slots > LANES {
        mask |= test(group(2 * LANES)) << LANES;
    }
    // What lies behind the tags are entries.
    mask & (u32::MAX >> (32 - layout.slots))
}

#[inline(always)]
fn next(bucket: usize, layout: &Layout) -> usize {
    if bucket + 1 == layout.buckets { 0 } else { bucket + 1 }
}

#[inline(always)]
fn load_tag(bytes: &[u8], slot: usize) -> u16 {
    u16::from_le_bytes([bytes[2 * slot], bytes[2 * slot + 1]])
}

#[inline(always)]
fn is_full(bytes: &[u8], layout: &Layout) -> bool {
    load_tag(bytes, layout.slots - 1) != 0
}

#[inline(always)]
fn first_free(bytes: &[u8], layout: &Layout) -> usize {
    over_bucket(bytes, layout, |tags| equal_lanes(tags, 0)).trailing_zeros() as usize
}

#[inline(always)]
fn entry_offset(layout: &Layout, slot: usize) -> usize {
    2 * layout.slots + slot * layout.entry_bytes
}

#[inline(always)]
fn whole_words<'a>(bytes: &'a [u8], layout: &Layout, entry: usize) -> &'a [u8] {
    let at = entry + layout.head_bytes;
    &bytes[at..at + 8 * layout.widths.whole_words]
}

#[inline(always)]
fn load_head(bytes: &[u8], layout: &Layout, entry: usize) -> u64 {
    let word = bytes[entry..entry + PADDING].try_into().expect("eight bytes");
    u64::from_le_bytes(word) & layout.head_mask
}

#[inline(always)]
fn bytes_of(rest: &[u64]) -> Vec<u8> {
    if rest.is_empty() { Vec::new() } else { rest.iter().flat_map(|word| word.to_le_bytes()).collect() }
}

#[inline(always)]
fn rest_equals(bytes: &[u8], mut offset: usize, rest: &[u64]) -> bool {
    for word in rest {
        if bytes[offset..offset + 8] != word.to_le_bytes() {
            return false;
        }
        offset += 8;
    }
    true
}

/// Writes a tag and a head, and keeps what follows: later slots, or another bucket.
#[inline(always)]
fn write_slot(bytes: &mut [u8], layout: &Layout, slot: usize, tag: u16, head: u64) {
    bytes[2 * slot..2 * slot + 2].copy_from_slice(&tag.to_le_bytes());
    let entry = entry_offset(layout, slot);
    if entry + PADDING <= layout.bucket_bytes {
        let field: &mut [u8; PADDING] = (&mut bytes[entry..entry + PADDING]).try_into().expect("eight bytes");
        let kept = u64::from_le_bytes(*field) & !layout.head_mask;
        *field = (kept | head).to_le_bytes();
    } else {
        write_last_head(bytes, layout, entry, head);
    }
}

/// [`write_slot`] for the first free slot. What follows in the bucket is still zero, and writing without reading spares
/// a wait for the neighbour's bytes where that one was written just before.
#[inline(always)]
fn fill_slot(bytes: &mut [u8], layout: &Layout, slot: usize, tag: u16, head: u64) {
    bytes[2 * slot..2 * slot + 2].copy_from_slice(&tag.to_le_bytes());
    let entry = entry_offset(layout, slot);
    if entry + PADDING <= layout.bucket_bytes {
        bytes[entry..entry + PADDING].copy_from_slice(&head.to_le_bytes());
    } else {
        write_last_head(bytes, layout, entry, head);
    }
}

/// Writes a head near the end of a bucket, as the end of a word that keeps what precedes. Nothing behind the bucket is touched: that may lie on a page that was never
/// written, and reading there first makes the kernel map it twice, the second time with an interrupt to every processor that runs a thread of ours.
#[inline(always)]
fn write_last_head(bytes: &mut [u8], layout: &Layout, entry: usize, head: u64) {
    let end = entry + layout.head_bytes;
    let field: &mut [u8; PADDING] = (&mut bytes[end - PADDING..end]).try_into().expect("eight bytes");
    let head_bits = 8 * layout.head_bytes as u32;
    let kept = u64::from_le_bytes(*field) & u64::MAX.unbounded_shr(head_bits);
    *field = (kept | head.unbounded_shl(64 - head_bits)).to_le_bytes();
}

#[inline(always)]
fn write_words(bytes: &mut [u8], layout: &Layout, slot: usize, rest: &[u64]) {
    let mut at = entry_offset(layout, slot) + layout.head_bytes;
    for word in rest {
        bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        at += 8;
    }
}
