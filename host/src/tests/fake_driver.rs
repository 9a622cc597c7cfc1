//! A pretended `libcuda.so.1`, compiled by `drivers.rs` into a library of its own: one device, whose memory is the host's.
//!
//! It is as lazy as a driver may be: work runs when somebody synchronises, one stream at a time, and other streams only as
//! far as an event demands. A wait that the runtime forgets gives wrong results here every time, not now and then.
//! With `--cfg old` it lacks most functions, as an old driver does.

#![allow(non_snake_case, clippy::missing_safety_doc, reason = "the driver's names; nobody calls this from Rust")]
#![cfg_attr(old, allow(dead_code, unused_imports, reason = "most of it is left out"))]

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{CStr, c_char, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard};

const MEMORY: usize = 1 << 30;

#[derive(Clone)]
enum Op {
    Copy { to: usize, from: usize, bytes: usize },
    Store { to: usize, content: Vec<u8> },
    Fill { to: usize, pattern: Vec<u8>, count: usize },
    Axpy { a: f32, x: usize, len: usize, y: usize },
    Record { event: usize, version: u64 },
    Wait { event: usize, version: u64 },
}

#[derive(Default)]
struct Stream {
    queue: VecDeque<Op>,
    capture: Option<Vec<Op>>,
}

#[derive(Default)]
struct Event {
    stream: usize,
    recorded: u64,
    done: u64,
}

#[derive(Default)]
struct State {
    streams: HashMap<usize, Stream>,
    events: HashMap<usize, Event>,
    graphs: HashMap<usize, Vec<Op>>,
    next: usize,
    memory: HashMap<usize, usize>,
    pinned: HashSet<usize>,
    used: usize,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);
thread_local! { static CURRENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) }; }

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap()
}

impl State {
    fn handle(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn submit(&mut self, stream: usize, op: Op) -> i32 {
        let stream = self.streams.get_mut(&stream).expect("a live stream");
        match &mut stream.capture {
            Some(capture) => capture.push(op),
            None => stream.queue.push_back(op),
        }
        0
    }

    fn run(&mut self, stream: usize) {
        while let Some(op) = self.streams.get_mut(&stream).and_then(|stream| stream.queue.pop_front()) {
            self.execute(op);
        }
    }

    fn run_all(&mut self) {
        // The last stream first: whatever order the program submitted in is not the order here.
        let mut streams: Vec<usize> = self.streams.keys().copied().collect();
        streams.sort();
        streams.into_iter().rev().for_each(|stream| self.run(stream));
    }

    fn execute(&mut self, op: Op) {
        unsafe {
            match op {
                Op::Copy { to, from, bytes } => std::ptr::copy(from as *const u8, to as *mut u8, bytes),
                Op::Store { to, content } => std::ptr::copy(content.as_ptr(), to as *mut u8, content.len()),
                Op::Fill { to, pattern, count } => {
                    for index in 0..count {
                        let target = (to + index * pattern.len()) as *mut u8;
                        std::ptr::copy(pattern.as_ptr(), target, pattern.len());
                    }
                }
                Op::Axpy { a, x, len, y } => {
                    for index in 0..len {
                        *(y as *mut f32).add(index) += a * *(x as *const f32).add(index);
                    }
                }
                Op::Record { event, version } => {
                    if let Some(event) = self.events.get_mut(&event) {
                        event.done = event.done.max(version);
                    }
                }
                Op::Wait { event, version } => self.reach(event, version),
            }
        }
    }

    /// Runs the event's stream until the event's record of that version is reached.
    fn reach(&mut self, event: usize, version: u64) {
        while let Some(stream) = self.events.get(&event).filter(|it| it.done < version).map(|it| it.stream) {
            match self.streams.get_mut(&stream).and_then(|stream| stream.queue.pop_front()) {
                Some(op) => self.execute(op),
                None => break,
            }
        }
    }
}

/// The constant of the module: where its kernels leave word of a fault.
static mut RECORD: usize = 0;

/// What every synchronisation says once a kernel has trapped.
fn status() -> i32 {
    let failed = cfg!(faults) && unsafe { RECORD != 0 && *(RECORD as *const u32) == 2 };
    if failed { 719 } else { 0 }
}

/// A kernel that ends itself, in the layout that the device writes.
fn fail() {
    let (message, file) = (b"row {} is not {}", b"src/lib.rs");
    unsafe {
        let words = RECORD as *mut u32;
        for (at, word) in [2, 77, 5, 0, 0, 9, 1, 0, 0x01_00, message.len() as u32, file.len() as u32].iter().enumerate() {
            *words.add(at) = *word;
        }
        *words.add(12).cast::<[i64; 2]>() = [3, -4];
        std::ptr::copy(message.as_ptr(), words.cast::<u8>().add(80), message.len());
        std::ptr::copy(file.as_ptr(), words.cast::<u8>().add(336), file.len());
    }
}

fn check_current() {
    assert_eq!(CURRENT.get(), 0xc0, "a driver call without the context current");
}

macro_rules! driver {
    ($($name:ident($($argument:ident: $type:ty),*) $body:block)*) => {
        $(#[unsafe(no_mangle)] pub unsafe extern "C" fn $name($($argument: $type),*) -> i32 { unsafe { $body } })*
    };
}

#[cfg(not(without_init))]
driver! { cuInit(_flags: u32) { 0 } }

driver! {
    cuDriverGetVersion(version: *mut i32) { *version = if cfg!(old) { 9020 } else { 13000 }; 0 }
    cuDeviceGetCount(count: *mut i32) { *count = if cfg!(no_device) { 0 } else { 1 }; 0 }
    cuDeviceGet(device: *mut i32, index: i32) { *device = index; 0 }
    cuDeviceGetName(name: *mut c_char, _len: i32, _device: i32) {
        std::ptr::copy(c"Pretended GPU".as_ptr(), name, 14); 0
    }
    cuDeviceTotalMem_v2(bytes: *mut usize, _device: i32) { *bytes = MEMORY; 0 }
    cuDeviceGetAttribute(value: *mut i32, attribute: i32, _device: i32) {
        *value = match attribute { 1 => 1024, 16 => 4, 75 => 9, 97 => 232448, _ => 0 }; 0
    }
}

#[cfg(not(old))]
driver! {
    cuGetErrorName(_code: i32, name: *mut *const c_char) { *name = c"CUDA_ERROR_PRETENDED".as_ptr(); 0 }
    cuGetErrorString(_code: i32, text: *mut *const c_char) { *text = c"pretended".as_ptr(); 0 }
    cuDevicePrimaryCtxRetain(context: *mut usize, _device: i32) { *context = 0xc0; 0 }
    cuDevicePrimaryCtxRelease_v2(_device: i32) {
        let state = state();
        assert!(state.memory.is_empty(), "memory left: {:?}", state.memory);
        assert!(state.streams.is_empty() && state.events.is_empty() && state.graphs.is_empty(), "handles left");
        0
    }
    cuCtxSetCurrent(context: usize) { CURRENT.set(context); 0 }
    cuCtxGetCurrent(context: *mut usize) { *context = CURRENT.get(); 0 }
    cuCtxSynchronize() { check_current(); state().run_all(); status() }

    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) { *free = MEMORY - state().used; *total = MEMORY; 0 }
    cuMemAlloc_v2(address: *mut usize, bytes: usize) {
        check_current();
        let mut state = state();
        if state.used + bytes > MEMORY { return 2; }
        state.used += bytes;
        // Neither zeros nor anything like numbers.
        let memory = std::alloc::alloc(std::alloc::Layout::from_size_align(bytes, 256).unwrap());
        std::ptr::write_bytes(memory, 0xAA, bytes);
        state.memory.insert(memory as usize, bytes);
        *address = memory as usize;
        0
    }
    cuMemFree_v2(address: usize) {
        check_current();
        let mut state = state();
        state.run_all();
        let bytes = state.memory.remove(&address).expect("allocated memory");
        state.used -= bytes;
        std::alloc::dealloc(address as *mut u8, std::alloc::Layout::from_size_align(bytes, 256).unwrap());
        0
    }
    cuMemHostAlloc(memory: *mut usize, bytes: usize, _flags: u32) {
        *memory = std::alloc::alloc(std::alloc::Layout::from_size_align(bytes, 4096).unwrap()) as usize;
        state().pinned.insert(*memory);
        0
    }
    cuMemFreeHost(memory: usize) { assert!(state().pinned.remove(&memory), "pinned memory"); 0 }
    cuPointerGetAttribute(_value: *mut c_void, _attribute: i32, address: usize) {
        if state().pinned.contains(&address) { 0 } else { 1 }
    }
    cuMemHostGetDevicePointer_v2(address: *mut usize, memory: usize, _flags: u32) { *address = memory; 0 }
    cuMemcpyHtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize) {
        check_current();
        if stream == 0 {
            std::ptr::copy(from as *const u8, to as *mut u8, bytes);
            return 0;
        }
        let mut state = state();
        let op = if state.pinned.contains(&from) {
            Op::Copy { to, from, bytes }
        } else {
            Op::Store { to, content: std::slice::from_raw_parts(from as *const u8, bytes).to_vec() }
        };
        state.submit(stream, op)
    }
    cuMemcpyDtoHAsync_v2(to: usize, from: usize, bytes: usize, stream: usize) {
        check_current(); state().submit(stream, Op::Copy { to, from, bytes })
    }
    cuMemcpyDtoDAsync_v2(to: usize, from: usize, bytes: usize, stream: usize) {
        check_current(); state().submit(stream, Op::Copy { to, from, bytes })
    }
    cuMemsetD8Async(to: usize, value: u8, count: usize, stream: usize) {
        check_current(); state().submit(stream, Op::Fill { to, pattern: vec![value], count })
    }
    cuMemsetD16Async(to: usize, value: u16, count: usize, stream: usize) {
        check_current(); state().submit(stream, Op::Fill { to, pattern: value.to_ne_bytes().into(), count })
    }
    cuMemsetD32Async(to: usize, value: u32, count: usize, stream: usize) {
        check_current(); state().submit(stream, Op::Fill { to, pattern: value.to_ne_bytes().into(), count })
    }

    cuStreamCreate(stream: *mut usize, _flags: u32) {
        let mut state = state();
        *stream = state.handle();
        state.streams.insert(*stream, Stream::default());
        0
    }
    cuStreamDestroy_v2(stream: usize) { state().streams.remove(&stream).expect("a stream"); 0 }
    cuStreamSynchronize(stream: usize) { check_current(); state().run(stream); status() }
    cuStreamWaitEvent(stream: usize, event: usize, _flags: u32) {
        check_current();
        let mut state = state();
        assert!(state.streams[&stream].capture.is_none(), "a captured stream waits for one that is not");
        let version = state.events[&event].recorded;
        state.submit(stream, Op::Wait { event, version })
    }
    cuStreamBeginCapture_v2(stream: usize, _mode: i32) {
        let mut state = state();
        let stream = state.streams.get_mut(&stream).unwrap();
        assert!(stream.queue.is_empty() && stream.capture.is_none());
        stream.capture = Some(Vec::new());
        0
    }
    cuStreamEndCapture(stream: usize, graph: *mut usize) {
        let mut state = state();
        let Some(ops) = state.streams.get_mut(&stream).unwrap().capture.take() else { return 401 };
        *graph = state.handle();
        let handle = *graph;
        state.graphs.insert(handle, ops);
        0
    }
    cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, _flags: u64) {
        let mut state = state();
        *executable = state.handle();
        let (handle, ops) = (*executable, state.graphs[&graph].clone());
        state.graphs.insert(handle, ops);
        0
    }
    cuGraphLaunch(executable: usize, stream: usize) {
        let mut state = state();
        for op in state.graphs[&executable].clone() { state.submit(stream, op); }
        0
    }
    cuGraphExecDestroy(graph: usize) { state().graphs.remove(&graph).expect("a graph"); 0 }
    cuGraphDestroy(graph: usize) { state().graphs.remove(&graph).expect("a graph"); 0 }

    cuEventCreate(event: *mut usize, _flags: u32) {
        let mut state = state();
        *event = state.handle();
        let handle = *event;
        state.events.insert(handle, Event::default());
        0
    }
    cuEventDestroy_v2(event: usize) {
        // What still waits for it must not hang: run everything.
        let mut state = state();
        state.run_all();
        state.events.remove(&event).expect("an event");
        0
    }
    cuEventRecord(event: usize, stream: usize) {
        check_current();
        let mut state = state();
        assert!(state.streams[&stream].capture.is_none(), "an event of a captured stream");
        let it = state.events.get_mut(&event).expect("an event");
        // The runtime may record one event on one stream only.
        assert!(it.recorded == 0 || it.stream == stream);
        it.stream = stream;
        it.recorded += 1;
        let version = it.recorded;
        state.submit(stream, Op::Record { event, version })
    }
    cuEventSynchronize(event: usize) {
        check_current();
        let mut state = state();
        let version = state.events[&event].recorded;
        state.reach(event, version);
        0
    }
    cuEventElapsedTime(milliseconds: *mut f32, _start: usize, _end: usize) { *milliseconds = 0.5; 0 }

    cuModuleLoadDataEx(
        module: *mut usize, image: *const c_char, count: u32, options: *const i32, values: *const *mut c_char
    ) {
        check_current();
        // A cubin, which stands for itself if it says so.
        if CStr::from_ptr(image).to_bytes().starts_with(b"\x7fELF") {
            *module = 0x31;
            return if CStr::from_ptr(image).to_bytes() == b"\x7fELF good" { 0 } else { 200 };
        }
        let options = std::slice::from_raw_parts(options, count as usize);
        let error_log = *values.add(options.iter().position(|&option| option == 5).expect("an error log"));
        if CStr::from_ptr(image).to_str().unwrap().contains(".version 99") {
            let log = c"ptxas fatal: unsupported .version 99.0";
            std::ptr::copy(log.as_ptr(), error_log, log.count_bytes() + 1);
            return 222;
        }
        *module = 0x30; 0
    }
    cuModuleUnload(_module: usize) { 0 }
    cuModuleGetGlobal_v2(address: *mut usize, bytes: *mut usize, _module: usize, name: *const c_char) {
        if !cfg!(faults) || CStr::from_ptr(name) != c"__warpsmith_fault_record" { return 500; }
        (*address, *bytes) = (&raw const RECORD as usize, 8);
        0
    }
    cuModuleGetFunction(function: *mut usize, _module: usize, name: *const c_char) {
        *function = match CStr::from_ptr(name).to_bytes() { b"check_axpy" => 1, b"check_nothing" => 2, _ => return 500 }; 0
    }
    cuFuncGetAttribute(value: *mut i32, attribute: i32, _function: usize) {
        *value = if attribute == 0 { 1024 } else { 0 }; 0
    }
    cuFuncSetAttribute(_function: usize, attribute: i32, value: i32) {
        assert!(attribute == 8 && value <= 232448); 0
    }
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, _function: usize, _threads: i32, _shared: usize) {
        *blocks = 8; 0
    }
    cuTensorMapEncodeTiled(
        map: *mut u64, element: i32, rank: u32, address: u64, extents: *const u64, strides: *const u64, tile: *const u32,
        element_strides: *const u32, interleave: i32, swizzle: i32, promotion: i32, fill: i32
    ) {
        check_current();
        assert!((map as usize).is_multiple_of(64) && address.is_multiple_of(16));
        assert_eq!((interleave, fill), (0, 0));
        // What came: the check looks whether it is what was meant.
        *map = element as u64 | u64::from(rank) << 8 | (swizzle as u64) << 16 | (promotion as u64) << 24;
        *map.add(1) = address;
        for axis in 0..rank as usize {
            *map.add(2 + axis) = *extents.add(axis);
            *map.add(7 + axis) = u64::from(*tile.add(axis)) | u64::from(*element_strides.add(axis)) << 32;
            if axis > 0 { *map.add(11 + axis) = *strides.add(axis - 1); }
        }
        0
    }
    cuLaunchKernel(
        function: usize, x: u32, y: u32, z: u32, _block_x: u32, _block_y: u32, _block_z: u32, _shared: u32, stream: usize,
        parameters: *const *const c_void, _extra: *const c_void
    ) {
        check_current();
        assert!(x > 0 && y > 0 && z > 0, "an empty grid");
        let parameter = |index: usize| *parameters.add(index);
        if function == 2 && cfg!(faults) { fail() }
        if function == 2 { return 0; }
        let op = Op::Axpy {
            a: *parameter(0).cast(), x: *parameter(1).cast(), len: *parameter(2).cast(), y: *parameter(3).cast(),
        };
        state().submit(stream, op)
    }
}
