//! Where are the nodes of one level of a trie, and which is equal to a given one?
//!
//! ```text
//! node    keys-1 : u8 | digits, ascending: a byte each up to 32, 256 bits above | nodes below: 3 bytes each, none in the last level
//! place   table of nodes by hash: 8 bits of the hash | where the node begins : 24 bits
//! ```
//! Nodes lie in pages, one behind the other, and never move: so a level grows without being held twice. The table can be forgotten, and is made anew from the nodes when it is needed.

use super::OWNER;
use crate::budget::{Budget, BudgetError, ChargedVec};

/// The nodes at one distance from the root.
#[derive(Debug)]
pub(super) struct Level {
    budget: Budget,
    /// Whether it is the last.
    last: bool,
    pages: ChargedVec<ChargedVec<u8>>,
    count: usize,
    /// Where nodes begin, by their hash.
    places: ChargedVec<u32>,
}

/// A node while it is made: digits, ascending, and what is below each.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenNode {
    count: usize,
    digits: [u8; 256],
    below: [u32; 256],
}

/// A node as it lies in its level.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    count: usize,
    /// Digits and nodes below, and what follows in the page.
    bytes: &'a [u8],
    last: bool,
}

/// Up to so many digits are listed.
const LISTED: usize = 32;
const BITMAP_BYTES: usize = 32;
const LINK_BYTES: usize = 3;
/// No node is longer.
const NODE_BYTES_MAX: usize = 1 + BITMAP_BYTES + 256 * LINK_BYTES;
const PAGE_BITS: u32 = 13;
const PAGE_BYTES: usize = 1 << PAGE_BITS;
const PAGE_BYTES_FIRST: usize = 256;
/// Where a node begins is a number of 24 bits, and not the last of those: with eight bits more that is the mark of none.
const PLACE_BITS: u32 = 24;
const PAGES_MAX: usize = (1 << (PLACE_BITS - PAGE_BITS)) - 1;
const EMPTY: u32 = u32::MAX;
/// An odd number without a pattern.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Level {
    pub(super) fn new(budget: &Budget, last: bool) -> Result<Level, BudgetError> {
        Ok(Level {
            budget: budget.clone(),
            last,
            pages: ChargedVec::with_capacity(budget, OWNER, 0)?,
            count: 0,
            places: ChargedVec::with_capacity(budget, OWNER, 0)?,
        })
    }

    /// Bytes of nodes, and of what finds equal ones.
    pub(super) fn bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(ChargedVec::capacity).sum();
        pages + self.pages.capacity() * size_of::<ChargedVec<u8>>() + self.places.capacity() * 4
    }

    /// Forgets what finds equal nodes.
    pub(super) fn forget_places(&mut self) -> Result<(), BudgetError> {
        self.places = ChargedVec::with_capacity(&self.budget, OWNER, 0)?;
        Ok(())
    }

    /// The node that begins there.
    #[inline(always)]
    pub(super) fn node(&self, place: u32) -> Node<'_> {
        let page = &self.pages[place as usize >> PAGE_BITS];
        let (&count, bytes) = page[place as usize % PAGE_BYTES..].split_first().expect("a node has a byte");
        Node { count: usize::from(count) + 1, bytes, last: self.last }
    }

    /// Where a node with these digits and nodes below is, added if there was none.
    pub(super) fn keep(&mut self, open: &OpenNode) -> Result<u32, BudgetError> {
        if self.count * 8 >= self.places.len() * 7 {
            self.make_places()?;
        }
        let (mut slot, tag) = open.slot_and_tag(self.places.len());
        while self.places[slot] != EMPTY {
            let place = self.places[slot] ^ tag;
            if place >> PLACE_BITS == 0 && self.node(place).is(open) {
                return Ok(place);
            }
            slot = following(slot, self.places.len());
        }
        let place = self.append(open)?;
        self.places[slot] = tag | place;
        self.count += 1;
        Ok(place)
    }

    /// Adds a node; where it begins.
    fn append(&mut self, open: &OpenNode) -> Result<u32, BudgetError> {
        let mut room = [0; NODE_BYTES_MAX + 1];
        let encoded = open.encode(self.last, &mut room);
        if self.pages.last().is_none_or(|page| page.len() + encoded.len() > PAGE_BYTES) {
            if self.pages.len() == PAGES_MAX {
                let limit = PAGES_MAX * PAGE_BYTES;
                return Err(BudgetError { owner: OWNER, asked: encoded.len(), free: 0, limit });
            }
            // The first page grows: many levels have but a few nodes.
            let first = if self.pages.is_empty() { PAGE_BYTES_FIRST } else { PAGE_BYTES };
            self.pages.push(ChargedVec::with_capacity(&self.budget, OWNER, first)?)?;
        }
        let index = self.pages.len() - 1;
        let page = &mut self.pages[index];
        let begin = page.len();
        if begin + encoded.len() > page.capacity() {
            page.reserve((begin + encoded.len()).next_power_of_two() - begin)?;
        }
        page.extend(encoded)?;
        Ok((index << PAGE_BITS | begin) as u32)
    }

    /// Makes room for more places. After a refusal there are none.
    fn make_places(&mut self) -> Result<(), BudgetError> {
        let length = (self.count * 10 / 7).max(16);
        self.forget_places()?;
        let mut places = ChargedVec::with_capacity(&self.budget, OWNER, length)?;
        places.resize(length, EMPTY)?;
        let mut open = OpenNode::EMPTY;
        for (index, page) in self.pages.iter().enumerate() {
            let mut begin = 0;
            while begin < page.len() {
                let place = (index << PAGE_BITS | begin) as u32;
                let node = self.node(place);
                node.open(&mut open);
                let (mut slot, tag) = open.slot_and_tag(length);
                while places[slot] != EMPTY {
                    slot = following(slot, length);
                }
                places[slot] = tag | place;
                begin += node.bytes();
            }
        }
        self.places = places;
        Ok(())
    }
}

#[inline(always)]
fn following(slot: usize, slots: usize) -> usize {
    if slot + 1 == slots { 0 } else { slot + 1 }
}

impl OpenNode {
    /// Without a digit.
    pub(super) const EMPTY: OpenNode = OpenNode { count: 0, digits: [0; 256], below: [0; 256] };

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a digit above all others.
    #[inline(always)]
    pub(super) fn push(&mut self, digit: u8, below: u32) {
        self.digits[self.count] = digit;
        self.below[self.count] = below;
        self.count += 1;
    }

    /// What is below a digit.
    pub(super) fn get(&self, digit: u8) -> Option<u32> {
        self.digits[..self.count].binary_search(&digit).ok().map(|index| self.below[index])
    }

    /// Puts something below a digit, in place of what is there.
    pub(super) fn set(&mut self, digit: u8, below: u32) {
        let index = self.digits[..self.count].binary_search(&digit).unwrap_or_else(|index| {
            self.digits.copy_within(index..self.count, index + 1);
            self.below.copy_within(index..self.count, index + 1);
            self.count += 1;
            index
        });
        self.digits[index] = digit;
        self.below[index] = below;
    }

    /// Where it is looked for first, and its bits of the hash.
    #[inline(always)]
    fn slot_and_tag(&self, slots: usize) -> (usize, u32) {
        let mut hash = 0u64;
        for (&digit, &below) in self.digits[..self.count].iter().zip(&self.below) {
            hash =
                (hash.rotate_left(5) ^ (u64::from(below) << 8 | u64::from(digit))).wrapping_mul(MULTIPLIER);
        }
        let slot = ((hash >> 32) * slots as u64) >> 32;
        (slot as usize, (hash as u32) >> PLACE_BITS << PLACE_BITS)
    }

    /// The node in bytes. `out` is zero, and longer by what writing a link by four bytes takes more.
    fn encode<'a>(&self, last: bool, out: &'a mut [u8; NODE_BYTES_MAX + 1]) -> &'a [u8] {
        out[0] = (self.count - 1) as u8;
        let digits = &self.digits[..self.count];
        let mut end = 1;
        if self.count <= LISTED {
            out[1..=self.count].copy_from_slice(digits);
            end += self.count;
        } else {
            digits.iter().for_each(|&digit| out[1 + usize::from(digit >> 3)] |= 1 << (digit & 7));
            end += BITMAP_BYTES;
        }
        if !last {
            for place in &self.below[..self.count] {
                out[end..end + 4].copy_from_slice(&place.to_le_bytes());
                end += LINK_BYTES;
            }
        }
        &out[..end]
    }
}

impl Node<'_> {
    fn bytes(&self) -> usize {
        1 + self.digit_bytes() + if self.last { 0 } else { self.count * LINK_BYTES }
    }

    #[inline(always)]
    fn digit_bytes(&self) -> usize {
        if self.count <= LISTED { self.count } else { BITMAP_BYTES }
    }

    /// Digits, as they are listed or as bits.
    #[inline(always)]
    fn digits(&self) -> &[u8] {
        &self.bytes[..self.digit_bytes()]
    }

    /// Whether it is that node.
    #[inline(always)]
    fn is(&self, open: &OpenNode) -> bool {
        let digits = &open.digits[..open.count.min(256)];
        let held = self.digits();
        let has = |&digit: &u8| held[usize::from(digit >> 3)] >> (digit & 7) & 1 == 1;
        if self.count != open.count {
            return false;
        }
        let links = if self.last { &[][..] } else { &self.bytes[held.len()..][..self.count * LINK_BYTES] };
        let links = links.as_chunks::<LINK_BYTES>().0;
        let unlike = links.iter().zip(&open.below).fold(0, |unlike, (&[low, middle, high], &below)| {
            unlike | (u32::from_le_bytes([low, middle, high, 0]) ^ below)
        });
        unlike == 0 && if self.count <= LISTED { held == digits } else { digits.iter().all(has) }
    }

    /// How many digits of the node come before this one, if it has it.
    #[inline(always)]
    pub(super) fn index_of(&self, digit: u8) -> Option<usize> {
        if self.count <= LISTED {
            return self.digits().iter().position(|&held| held == digit);
        }
        let (word, bit) = (usize::from(digit >> 6), digit & 63);
        if self.word(word) >> bit & 1 == 0 {
            return None;
        }
        let before = (0..word).map(|word| self.word(word).count_ones()).sum::<u32>();
        Some((before + (self.word(word) & ((1 << bit) - 1)).count_ones()) as usize)
    }

    /// The node below the digit of that index.
    #[inline(always)]
    pub(super) fn below(&self, index: usize) -> u32 {
        let link = &self.bytes[self.digit_bytes() + index * LINK_BYTES..][..LINK_BYTES];
        u32::from_le_bytes([link[0], link[1], link[2], 0])
    }

    /// A word of the digits, where they are bits.
    #[inline(always)]
    fn word(&self, word: usize) -> u64 {
        u64::from_le_bytes(self.bytes[word * 8..word * 8 + 8].try_into().expect("eight bytes"))
    }

    /// Lists its digits, and what is below each.
    pub(super) fn open(&self, into: &mut OpenNode) {
        into.clear();
        let below = |index| if self.last { 0 } else { self.below(index) };
        if self.count <= LISTED {
            self.digits().iter().enumerate().for_each(|(index, &digit)| into.push(digit, below(index)));
            return;
        }
        for digit in 0..=255u8 {
            if self.bytes[usize::from(digit >> 3)] >> (digit & 7) & 1 == 1 {
                into.push(digit, below(into.count));
            }
        }
    }
}
