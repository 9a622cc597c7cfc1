//! A block's shared memory, as 32-bit addresses see it: the dynamic memory in one range, static arrays in another.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use super::error::Place;
use super::watch::{Copied, Kind, SharedWatch};

/// Where static arrays begin. Nothing lies at 0.
const STATIC: u32 = 0x400;
/// Where the dynamic memory begins.
const DYNAMIC: u32 = 0x80_0000;
/// Addresses of one block take so many bits; above them stands, plus one, the rank of another block of the cluster.
pub(crate) const BITS: u32 = 24;

/// As much alignment as shared memory ever needs.
#[derive(Clone)]
#[repr(C, align(1024))]
struct Line([u8; 1024]);

/// Bytes filled with ones, which read as NaN.
struct Memory(Box<[Line]>);

impl Memory {
    fn new(bytes: usize) -> Self {
        Self(vec![Line([0xff; 1024]); bytes.div_ceil(1024)].into())
    }

    fn start(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }
}

struct Array {
    memory: Memory,
    range: Range<u32>,
    watch: Option<Box<SharedWatch>>,
}

/// The shared memory of one block.
pub(crate) struct Window {
    watch: bool,
    dynamic: Memory,
    dynamic_bytes: usize,
    arrays: RefCell<HashMap<usize, Array>>,
    /// Views of the dynamic memory, by offset, size of an element, and length.
    views: RefCell<HashMap<[usize; 3], Box<SharedWatch>>>,
    /// The last asynchronous copies to each place, for views that are made later.
    copies: RefCell<Vec<(Range<u32>, Copied)>>,
}

impl Window {
    pub(crate) fn new(dynamic_bytes: usize, watch: bool) -> Self {
        Self {
            watch,
            dynamic: Memory::new(dynamic_bytes),
            dynamic_bytes,
            arrays: RefCell::default(),
            views: RefCell::default(),
            copies: RefCell::default(),
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watch
    }

    /// The start of the dynamic memory.
    pub(crate) fn dynamic(&self) -> *mut u8 {
        self.dynamic.start()
    }

    fn dynamic_range(&self) -> Range<u32> {
        DYNAMIC..DYNAMIC + self.dynamic_bytes as u32
    }

    /// A static array: the same for each call with the same key.
    pub(crate) fn array(&self, key: usize, len: usize, bytes: usize) -> (*mut u8, *const SharedWatch) {
        let mut arrays = self.arrays.borrow_mut();
        // A gap, so that an address past the end of one array is not inside the next.
        let start = arrays.values().map(|array| array.range.end).max().map_or(STATIC, |end| (end + 32) & !15);
        let array = arrays.entry(key).or_insert_with(|| {
            let range = start..start + bytes as u32;
            Array { memory: Memory::new(bytes), watch: self.watch(range.clone(), bytes / len.max(1), len), range }
        });
        (array.memory.start(), array.watch.as_ref().map_or(std::ptr::null(), |watch| &raw const **watch))
    }

    /// The watch over `len` elements of `size` bytes at an offset in dynamic shared memory.
    pub(crate) fn dynamic_watch(&self, offset: usize, size: usize, len: usize) -> *const SharedWatch {
        let start = DYNAMIC + offset as u32;
        let range = start..start + (size * len) as u32;
        let mut views = self.views.borrow_mut();
        if !self.watch {
            return std::ptr::null();
        }
        let view = views
            .entry([offset, size, len])
            .or_insert_with(|| self.watch(range, size, len).expect("this block is watched"));
        &raw const **view
    }

    fn watch(&self, range: Range<u32>, size: usize, len: usize) -> Option<Box<SharedWatch>> {
        self.watch.then(|| {
            let watch = SharedWatch::new(range.start, size, len);
            self.copies.borrow().iter().for_each(|(range, copied)| watch.replay(range.clone(), *copied));
            Box::new(watch)
        })
    }

    /// The host's address of `bytes` bytes at an address of this block.
    pub(crate) fn resolve(&self, address: u32, bytes: usize) -> Result<*mut u8, String> {
        let inside = |range: &Range<u32>| range.contains(&address) || (address == range.end && bytes == 0);
        let dynamic = self.dynamic_range();
        let arrays = self.arrays.borrow();
        let (range, start) = if inside(&dynamic) {
            (dynamic, self.dynamic.start())
        } else if let Some(array) = arrays.values().find(|array| inside(&array.range)) {
            (array.range.clone(), array.memory.start())
        } else {
            return Err(format!(
                "no shared memory lies at address {address:#x}: the dynamic memory is {:#x}..{:#x}",
                dynamic.start, dynamic.end
            ));
        };
        if bytes > (range.end - address) as usize {
            return Err(format!(
                "{bytes} bytes at shared address {address:#x} reach past the end of their {} memory, {:#x}..{:#x}",
                if range.start == DYNAMIC { "dynamic" } else { "static" },
                range.start,
                range.end
            ));
        }
        // SAFETY: `address` lies in the range that this memory stands for.
        Ok(unsafe { start.add((address - range.start) as usize) })
    }

    /// The address of a pointer into this block's shared memory.
    pub(crate) fn address(&self, pointer: *const u8) -> Option<u32> {
        let within = |start: *mut u8, range: Range<u32>| {
            let offset = (pointer as usize).checked_sub(start as usize)?;
            (offset <= range.len()).then(|| range.start + offset as u32)
        };
        let arrays = self.arrays.borrow();
        let fixed = arrays.values().find_map(|array| within(array.memory.start(), array.range.clone()));
        fixed.or_else(|| within(self.dynamic.start(), self.dynamic_range()))
    }

    /// Tells all watches that a copy writes `range`.
    pub(crate) fn copied(&self, range: Range<u32>, copied: Copied) {
        if !self.watch {
            return;
        }
        let arrays = self.arrays.borrow();
        arrays.values().filter_map(|array| array.watch.as_ref()).for_each(|watch| watch.copied(range.clone(), copied));
        self.views.borrow().values().for_each(|watch| watch.copied(range.clone(), copied));
        let mut copies = self.copies.borrow_mut();
        match copies.iter_mut().find(|(known, _)| *known == range) {
            Some((_, known)) => *known = copied,
            None => copies.push((range, copied)),
        }
    }

    /// Tells all watches that `range` is written, by a thread with which nothing is compared.
    pub(crate) fn written(&self, range: Range<u32>, place: Place) {
        if !self.watch {
            return;
        }
        let arrays = self.arrays.borrow();
        let arrays = arrays.values().filter_map(|array| array.watch.as_ref());
        let views = self.views.borrow();
        arrays.chain(views.values()).for_each(|watch| watch.written(range.clone(), place));
    }

    /// Tells all watches that the running thread makes an access of this kind to all of `range`.
    pub(crate) fn access(&self, range: Range<u32>, kind: Kind, place: Place) {
        if !self.watch {
            return;
        }
        let arrays = self.arrays.borrow();
        let arrays = arrays.values().filter_map(|array| array.watch.as_ref());
        let views = self.views.borrow();
        arrays.chain(views.values()).for_each(|watch| watch.access_range(range.clone(), kind, place));
    }
}
