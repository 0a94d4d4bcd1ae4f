//! What is too large, or nothing at all.

use transom::domain::format::XRGB8888;
use transom::domain::geometry::{Rect, Size};
use transom::ports::renderer::{ImportError, RenderError, Renderer};

use crate::subjects::each;
use crate::support::picture::rgb;
use crate::support::pool::Memfd;
use crate::support::stage::{capture, new_buffer_id, picture_of, render_whole, scene};

/// Still renders.
fn assert_well(renderer: &mut dyn Renderer) {
    let pixels = picture_of(renderer, &scene(Size::new(4, 4), [10, 20, 30], &[]));
    assert_eq!(rgb(&pixels, Default::default()), [10, 20, 30]);
}

#[test]
fn target_of_an_impossible_size_is_refused() {
    each(|renderer| {
        let most = renderer.capabilities().max_target_side as i32;
        assert!(most >= 4096, "{most}");
        let sizes = [
            Size::new(0, 5),
            Size::new(5, 0),
            Size::new(-1, 5),
            Size::new(i32::MIN, i32::MIN),
            Size::new(most + 1, 1),
            Size::new(1, most + 1),
            Size::new(i32::MAX, i32::MAX),
        ];
        let existing = renderer.create_offscreen(Size::new(8, 8)).unwrap();
        for size in sizes {
            let made = renderer.create_offscreen(size);
            assert!(matches!(made, Err(RenderError::Unsupported(_))), "{size:?}: {made:?}");
            let resized = renderer.resize_target(existing, size);
            assert!(matches!(resized, Err(RenderError::Unsupported(_))), "{size:?}: {resized:?}");
        }
        assert_eq!(renderer.holdings().targets, 1);
        render_whole(renderer, existing, &scene(Size::new(8, 8), [1, 2, 3], &[]));
        assert_eq!(rgb(&capture(renderer, existing, Rect::new(0, 0, 8, 8)), Default::default()), [1, 2, 3]);
        renderer.destroy_target(existing);
    });
}

#[test]
fn texture_beyond_the_greatest_side_is_refused() {
    each(|renderer| {
        let most = renderer.capabilities().max_texture_side as i32;
        let bytes = vec![0x55; (most as usize + 1) * 4];
        let pool = Memfd::new(&bytes);
        let before = renderer.holdings();
        for size in [Size::new(most + 1, 1), Size::new(1, most + 1)] {
            let result = renderer.import_shm(&pool.buffer(0, size, size.w * 4, XRGB8888), new_buffer_id());
            assert!(matches!(result, Err(ImportError::Unsupported { .. })), "{size:?}: {result:?}");
        }
        assert_eq!(renderer.holdings(), before);
        for size in [Size::new(most, 1), Size::new(1, most)] {
            let (texture, _) =
                renderer.import_shm(&pool.buffer(0, size, size.w * 4, XRGB8888), new_buffer_id()).unwrap();
            renderer.forget(texture);
        }
        assert_well(renderer);
    });
}
