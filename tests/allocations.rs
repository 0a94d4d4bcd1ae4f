//! Steady frames allocate nothing and make nothing: counted, not believed.
//!
//! A counting global allocator sees every Rust allocation of the thread that renders, the adapter counts the Vulkan
//! objects it makes, and the validation layers watch. Each scene runs in every mode the device has, here through the
//! renderer's port, in [`desktop`] through the whole compositor with real clients. The driver's own host allocations are
//! printed beside: they are C's, made through VkAllocationCallbacks.

#[path = "allocations/desktop.rs"]
mod desktop;
mod support;

use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use support::allocation::{Counting, allocations};
use support::fence::Gate;
use support::stage::{color, element, scene, settle, shown};
use transom::adapters::vulkan::{Bindless, NewError, Options, Transfers, Upload, Vulkan};
use transom::domain::buffer::{BufferId, ShmLayout, TextureId};
use transom::domain::format::{ARGB8888, Fourcc, XRGB8888};
use transom::domain::geometry::{Point, Rect, Size};
use transom::domain::region::Region;
use transom::domain::scene::{Element, Paint, Scene};
use transom::ports::pool::{Pool as ClientPool, PoolError, ShmBuffer};
use transom::ports::renderer::{FenceError, RenderError, Renderer, TargetId};

const OUTPUT: Size = Size::new(640, 480);
const WARM_UP: u64 = 40;
const FRAMES: u64 = 100;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `f` returns, and how often it allocated on this thread.
fn counting<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let mut result = None;
    let count = allocations(|| result = Some(f()));
    (result.expect("set above"), count)
}

/// Every mode that the device has, by name.
fn modes() -> Vec<(&'static str, Vulkan)> {
    let options =
        |bindless, upload, transfers| Options { validation: true, bindless, upload, transfers, ..Options::default() };
    let all = [
        ("a set each, staging, drawn", options(Bindless::Off, Upload::Staging, Transfers::Never)),
        ("a set each, staging, transfers", options(Bindless::Off, Upload::Staging, Transfers::Always)),
        ("bindless, staging, drawn", options(Bindless::On, Upload::Staging, Transfers::Never)),
        ("bindless, host copies, transfers", options(Bindless::On, Upload::HostCopy, Transfers::Always)),
    ];
    let made = all.into_iter().filter_map(|(name, options)| match Vulkan::new(&options) {
        Ok(vulkan) => Some((name, vulkan)),
        Err(NewError::Lacking { missing, .. }) => {
            eprintln!("{name}: the device lacks {missing}");
            None
        }
        Err(error) => panic!("{name}: {error}"),
    });
    made.collect()
}

/// A client's memory that costs nothing to read, so that what is counted is the renderer's.
#[derive(Debug)]
struct Bytes(Vec<u8>, File);

impl ClientPool for Bytes {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.1.as_fd()
    }

    fn read(&self, range: Range<usize>, reader: &mut dyn FnMut(*const u8)) -> Result<(), PoolError> {
        reader(self.0[range].as_ptr());
        Ok(())
    }
}

/// A client's image.
struct Client {
    buffer: ShmBuffer,
    texture: TextureId,
}

impl Client {
    fn new(renderer: &mut dyn Renderer, size: Size, format: Fourcc) -> Self {
        let bytes = vec![0x80; size.area() as usize * 4];
        let layout = ShmLayout::new(bytes.len(), 0, size, size.w * 4, format).expect("a layout");
        let pool = Arc::new(Bytes(bytes, File::open("/dev/null").expect("a file")));
        let buffer = ShmBuffer { pool, layout };
        let (texture, _) = renderer.import_shm(&buffer, BufferId(1)).expect("an import");
        Self { buffer, texture }
    }

    fn element(&self, at: Point) -> Element {
        shown(self.texture, self.buffer.layout.size(), at)
    }
}

/// What changes from frame to frame: the scene, the damage, and what clients upload.
struct Frame {
    scene: Scene,
    damage: Region,
    updates: Vec<(usize, Vec<Rect>)>,
}

impl Frame {
    fn new(elements: &[(Element, Option<Rect>)], damage: &[Rect], updates: Vec<(usize, Vec<Rect>)>) -> Self {
        let mut region = Region::new();
        damage.iter().for_each(|rect| region.add(*rect));
        Self { scene: scene(OUTPUT, [10, 20, 30], elements), damage: region, updates }
    }
}

/// Renders one frame; tells what the renderer allocated meanwhile.
fn render(renderer: &mut dyn Renderer, target: TargetId, clients: &[Client], frame: &Frame) -> u64 {
    let mut allocated = 0;
    let mut counted = |f: &mut dyn FnMut()| allocated += counting(f).1;
    for (client, damage) in &frame.updates {
        let client = &clients[*client];
        let mut result = None;
        counted(&mut || {
            result = Some(renderer.update_shm(client.texture, &client.buffer, BufferId(1), damage));
        });
        result.expect("set above").expect("an update");
    }
    loop {
        let mut result = None;
        counted(&mut || {
            renderer.drain(&mut |_| ()).expect("a drain");
            renderer.acquire(target).expect("a target");
            result = Some(renderer.render(target, &frame.scene, &frame.damage));
        });
        match result.expect("set above") {
            Ok(ticket) => {
                assert_eq!(ticket.cost.submits, 1);
                assert!(ticket.cost.barrier_calls - ticket.cost.setup_barrier_calls <= 2, "{:?}", ticket.cost);
                return allocated;
            }
            Err(RenderError::NotReady) => settle(renderer),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Runs `frame` after `frame` in each mode and looks at what the steady ones cost.
fn steady(what: &str, clients: impl Fn(&mut dyn Renderer) -> Vec<Client>, frame: impl Fn(&[Client], u64) -> Frame) {
    for (mode, mut vulkan) in modes() {
        let renderer: &mut dyn Renderer = &mut vulkan;
        let clients = clients(renderer);
        let target = renderer.create_offscreen(OUTPUT).expect("a target");
        for n in 0..WARM_UP {
            render(renderer, target, &clients, &frame(&clients, n));
        }
        settle(renderer);
        renderer.drain(&mut |_| ()).expect("a drain");
        let (before, held) = (renderer.counters(), renderer.holdings());
        let allocated: u64 =
            (WARM_UP..WARM_UP + FRAMES).map(|n| render(renderer, target, &clients, &frame(&clients, n))).sum();
        let cost = renderer.counters().since(&before);
        settle(renderer);
        renderer.drain(&mut |_| ()).expect("a drain");
        eprintln!(
            "{what}; {mode}: {} draws, {} transfers, {} + {} bytes copied by the CPU, {} driver host allocations",
            cost.draws, cost.transfers, cost.staging_cpu_bytes, cost.host_copy_cpu_bytes, cost.driver_host_allocations
        );
        assert_eq!(allocated, 0, "{what}; {mode}: Rust allocations in {FRAMES} frames");
        assert_eq!((cost.objects_created, cost.objects_destroyed), (0, 0), "{what}; {mode}: Vulkan objects");
        assert_eq!((cost.submits, cost.descriptor_writes), (FRAMES, 0), "{what}; {mode}");
        assert!(cost.barrier_calls <= 2 * FRAMES && cost.setup_barrier_calls == 0, "{what}; {mode}: {cost:?}");
        assert!(cost.draws + cost.transfers > 0, "{what}; {mode}: nothing was painted");
        assert_eq!(renderer.holdings(), held, "{what}; {mode}: held");
        let messages = vulkan.messages();
        drop(vulkan);
        assert_eq!(messages.texts(), Vec::<String>::new(), "{what}; {mode}");
    }
}

const ALL: Rect = Rect::new(0, 0, OUTPUT.w, OUTPUT.h);

/// `n` windows, every second one translucent.
fn windows(renderer: &mut dyn Renderer, n: usize, size: Size) -> Vec<Client> {
    (0..n).map(|i| Client::new(renderer, size, if i % 2 == 0 { XRGB8888 } else { ARGB8888 })).collect()
}

/// Where the `i`th of many windows is, every second one opaque as a whole.
fn place(client: &Client, i: usize) -> (Element, Option<Rect>) {
    let element = client.element(Point::new((i as i32 * 61) % 600 - 10, (i as i32 * 37) % 440 - 10));
    (element, i.is_multiple_of(2).then_some(element.dst))
}

#[test]
fn still_scene_repainted_allocates_and_makes_nothing() {
    steady(
        "a still scene",
        |renderer| windows(renderer, 10, Size::new(200, 150)),
        |clients, _| {
            let mut elements: Vec<_> = clients.iter().enumerate().map(|(i, client)| place(client, i)).collect();
            let bar = element(Paint::Solid(color([0.2, 0.3, 0.4, 1.0])), Rect::new(0, 0, OUTPUT.w, 20));
            elements.push((bar, Some(bar.dst)));
            let shade = element(Paint::Solid(color([0.0, 0.0, 0.0, 0.5])), Rect::new(300, 200, 90, 90));
            elements.push((shade, None));
            elements[0].0.dst = Rect::new(20, 30, 301, 225); // scaled, so that texels are mixed
            elements[0].1 = None;
            Frame::new(&elements, &[ALL], Vec::new())
        },
    );
}

#[test]
fn one_updating_window_of_a_hundred_allocates_and_makes_nothing() {
    steady(
        "100 windows, one updating",
        |renderer| windows(renderer, 100, Size::new(64, 48)),
        |clients, _| {
            let elements: Vec<_> = clients.iter().enumerate().map(|(i, client)| place(client, i)).collect();
            let changed = clients[70].buffer.layout.size();
            Frame::new(&elements, &[elements[70].0.dst], vec![(70, vec![Rect::from_size(changed)])])
        },
    );
}

#[test]
fn moving_windows_allocate_and_make_nothing() {
    steady(
        "moving windows",
        |renderer| windows(renderer, 20, Size::new(120, 90)),
        |clients, n| {
            let at = |i: usize, n: u64| Point::new((i as i32 * 53 + n as i32 * 7) % 640 - 40, (i as i32 * 29) % 440);
            let moved: Vec<_> = clients.iter().enumerate().map(|(i, client)| client.element(at(i, n))).collect();
            let elements: Vec<_> = moved.iter().map(|&element| (element, Some(element.dst))).collect();
            let was = |i: usize| Rect::at(at(i, n.saturating_sub(1)), Size::new(120, 90));
            let damage: Vec<_> = moved.iter().enumerate().flat_map(|(i, element)| [was(i), element.dst]).collect();
            Frame::new(&elements, &damage, Vec::new())
        },
    );
}

#[test]
fn moving_cursor_allocates_and_makes_nothing() {
    steady(
        "a moving cursor",
        |renderer| {
            let mut clients = windows(renderer, 4, Size::new(320, 240));
            clients.push(Client::new(renderer, Size::new(24, 24), ARGB8888));
            clients
        },
        |clients, n| {
            let (cursor, windows) = clients.split_last().expect("the cursor");
            let mut elements: Vec<_> = windows.iter().enumerate().map(|(i, client)| place(client, i)).collect();
            let at = |n: u64| Point::new((n as i32 * 5) % 630, (n as i32 * 3) % 470);
            elements.push((cursor.element(at(n)), None));
            let was = Rect::at(at(n.saturating_sub(1)), Size::new(24, 24));
            Frame::new(&elements, &[was, Rect::at(at(n), Size::new(24, 24))], Vec::new())
        },
    );
}

#[test]
fn damaged_subsurfaces_allocate_and_make_nothing() {
    steady(
        "damaged subsurfaces",
        |renderer| {
            let mut clients = vec![Client::new(renderer, Size::new(400, 300), XRGB8888)];
            clients.extend(windows(renderer, 4, Size::new(90, 80)));
            clients
        },
        |clients, n| {
            let mut elements = vec![(clients[0].element(Point::new(50, 60)), Some(Rect::new(50, 60, 400, 300)))];
            let mut damage = Vec::new();
            let mut updates = Vec::new();
            for (i, client) in clients.iter().enumerate().skip(1) {
                let at = Point::new(20 + 95 * i as i32, 100);
                elements.push((client.element(at), None));
                let step = (n % 7) as i32;
                let rects = vec![Rect::new(step, 3, 20, 9), Rect::new(40, 20 + step, 7, 7), Rect::new(45, 22, 30, 30)];
                damage.extend(rects.iter().map(|rect| rect.translated(at)));
                updates.push((i, rects));
            }
            Frame::new(&elements, &damage, updates)
        },
    );
}

/// How many semaphores each frame waits for.
const WAITS: usize = 8;

/// Has the next frame wait before it reads the texture: for a fence where the device imports those, else for an empty
/// submission. Tells what the renderer allocated meanwhile.
fn wait_for_one(vulkan: &mut Vulkan, texture: TextureId, gate: &Gate) -> u64 {
    let fence = gate.fence();
    let mut result = None;
    let (_, mut allocated) = counting(|| result = Some(vulkan.wait_for(texture, fence)));
    match result.expect("set above") {
        Ok(()) => {}
        Err(FenceError::NotTaken { .. }) => {
            let (waited, more) = counting(|| vulkan.wait_for_nothing(texture));
            waited.expect("an empty submission");
            allocated += more;
        }
        Err(error) => panic!("{error}"),
    }
    allocated
}

#[test]
fn semaphores_waited_for_retired_and_drained_allocate_nothing_and_leave_no_entry() {
    for (mode, mut vulkan) in modes() {
        let clients = windows(&mut vulkan, WAITS, Size::new(120, 90));
        let target = vulkan.create_offscreen(OUTPUT).expect("a target");
        let elements: Vec<_> = clients.iter().enumerate().map(|(i, client)| place(client, i)).collect();
        let frame = Frame::new(&elements, &[ALL], Vec::new());
        let gate = Gate::open();
        let waits = |vulkan: &mut Vulkan| -> u64 {
            clients.iter().map(|client| wait_for_one(vulkan, client.texture, &gate)).sum()
        };
        // Frames that are not drained keep their semaphores, so that the pool holds more than any later frame can want.
        for _ in 0..6 {
            waits(&mut vulkan);
            vulkan.acquire(target).expect("a target");
            settle(&mut vulkan);
            vulkan.render(target, &frame.scene, &frame.damage).expect("a frame when none is in flight");
        }
        assert_eq!(vulkan.holdings().semaphores_in_use, 6 * WAITS as u64);
        settle(&mut vulkan);
        vulkan.drain(&mut |_| ()).expect("a drain");
        let (before, held) = (vulkan.counters(), vulkan.holdings());
        assert_eq!((held.semaphores, held.semaphores_in_use, held.deferred_entries), (6 * WAITS as u64, 0, 0));
        let mut allocated = 0;
        for _ in 0..FRAMES {
            allocated += waits(&mut vulkan);
            allocated += render(&mut vulkan, target, &[], &frame);
        }
        settle(&mut vulkan);
        allocated += counting(|| vulkan.drain(&mut |_| ()).expect("a drain")).1;
        let cost = vulkan.counters().since(&before);
        let fenced = cost.fences_imported;
        eprintln!("{mode}: {fenced} fences imported, {} semaphores given back", cost.semaphores_returned);
        assert_eq!(allocated, 0, "{mode}: Rust allocations in {FRAMES} frames");
        assert_eq!((cost.objects_created, cost.objects_destroyed), (0, 0), "{mode}: Vulkan objects");
        assert_eq!((cost.semaphores_created, cost.semaphores_destroyed), (0, 0), "{mode}");
        assert_eq!(cost.semaphores_returned, FRAMES * WAITS as u64, "{mode}");
        assert!(fenced == 0 || fenced == FRAMES * WAITS as u64, "{mode}: {fenced} fences taken");
        assert_eq!(vulkan.holdings(), held, "{mode}: held");
        let messages = vulkan.messages();
        drop(vulkan);
        assert_eq!(messages.texts(), Vec::<String>::new(), "{mode}");
    }
}
