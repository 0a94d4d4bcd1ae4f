//! Steady frames: latching and uploading them allocates nothing, answering them only what the wire library does.

use transom::adapters::wayland::latch::Item;
use transom::domain::frame::Time;
use transom::domain::scene::{Color, Role};
use transom::ports::output::Presented;
use wayland_client::protocol::{wl_shm, wl_subcompositor};

use crate::support::allocation::{Counting, allocations};
use crate::{RED, Stage, put};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WARM_UP: u64 = 40;

#[test]
fn steady_frames_of_a_hundred_windows_allocate_nothing() {
    let (mut stage, mut client) = Stage::new();
    stage.renderer.quiet = true;
    let subcompositor = client.bind::<wl_subcompositor::WlSubcompositor>();
    let windows: Vec<_> = (0..100).map(|_| client.surface()).collect();
    let child = client.surface();
    subcompositor.get_subsurface(&child, &windows[0], &client.handle, ()).set_desync();
    // Two buffers for each that updates, as clients have.
    let pool = client.pool(4 * 64 * 64 * 4);
    let format = wl_shm::Format::Argb8888;
    let buffers = [0, 1, 2, 3].map(|n| pool.buffer(&client, n * 64 * 64 * 4, 64, 64, 64 * 4, format));
    put(&child, &buffers[2]);
    for window in &windows {
        put(window, &client.buffer(64, 64, RED));
    }
    client.roundtrip(&mut stage.host);
    windows.iter().for_each(|window| stage.show(window));
    let mut items = Vec::new();
    for frame in 0..WARM_UP + 100 {
        let now = Time::from_ns(1_000_000_000 + frame * 16_666_667);
        let n = frame as usize % 2;
        for (surface, buffer) in [(&windows[0], &buffers[n]), (&child, &buffers[2 + n])] {
            client.frame(surface);
            client.feedback(surface);
            surface.attach(Some(buffer), 0, 0);
            surface.damage_buffer(frame as i32 % 50, 3, 10, 10);
            surface.damage_buffer(20, frame as i32 % 50, 5, 5);
            surface.commit();
        }
        client.roundtrip(&mut stage.host);
        // Every window moves.
        items.clear();
        items.extend((0_u32..).zip(&stage.shown).map(|(i, &root)| Item::Tree {
            root,
            x: f64::from(i) * 1.5 + frame as f64 % 7.0,
            y: f64::from(i % 40),
            alpha: 1.0,
            role: Role::Content,
        }));
        let presented = Presented {
            time: now,
            sequence: frame,
            period_ns: 16_666_667,
            vsync: true,
            hw_clock: false,
            hw_completion: true,
            zero_copy: false,
        };
        let Stage { host, output, tracker, scene, renderer, .. } = &mut stage;
        let (state, output) = (&mut host.server.state, *output);
        let count = allocations(|| {
            state.core.latch(output, &items, tracker, Color::BLACK, scene);
            state.upload(output, renderer, scene).unwrap();
            tracker.compare(scene);
            tracker.rendered(scene);
            state.frame_submitted(output);
        });
        let callbacks = allocations(|| {
            state.frame_done(output, now);
            state.tick(now);
        });
        let feedback = allocations(|| state.frame_presented(output, &presented));
        if frame >= WARM_UP {
            assert_eq!(count, 0, "frame {frame}");
            // The wire library's own: a list of destroyed objects for each batch, and messages of more than four
            // arguments (wp_presentation_feedback.presented has seven).
            assert!(callbacks <= 1 && feedback <= 3 * 2, "frame {frame}: {callbacks}, {feedback}");
        }
    }
}
