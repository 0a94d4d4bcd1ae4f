//! Whether a frame must be composited, or one client's buffer can be shown as it is.
//!
//! A buffer can stand for the picture when it *is* the picture: from the front, the first element that shows anything
//! covers the output, hides all beneath, and shows its whole buffer texel by pixel. Whether the display takes the
//! buffer's format, size and memory is asked of the output afterwards; this is the part that needs no display, and the
//! reasons it names are what `transom msg outputs` and the log say at debug. Next of the walk: `ports::output`.

use super::geometry::Rect;
use super::scene::{Element, Paint, Role, Scene};
use super::visibility::unscaled_origin;

/// What an output can show by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// A client's buffer of the output's size.
    pub scan_out: bool,
    /// The pointer's image, above the rest.
    pub cursor_plane: bool,
}

/// How a frame reaches the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Rendered onto the output's target.
    Composite(Reason),
    /// The buffer of this element, by its place in [`Scene::elements`], is shown as it is.
    ScanOut(usize),
}

/// Why a frame is composited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The output cannot, or must not.
    #[error("scan-out is off")]
    Unable,
    /// Nothing but the background shows.
    #[error("nothing to scan out")]
    Empty,
    /// The front element leaves a part of the output to others.
    #[error("the front element does not cover the output")]
    Partial,
    /// The front element lets others through: its alpha, or no opaque region there.
    #[error("the front element is not opaque")]
    Translucent,
    /// One colour, or content without a buffer.
    #[error("the front element has no buffer")]
    NoBuffer,
    /// Cropped, scaled, turned, or mirrored.
    #[error("the front element does not show its whole buffer texel by pixel")]
    Shaped,
}

/// Chooses for the scene's output.
pub fn choose(scene: &Scene, abilities: Abilities) -> Choice {
    if !abilities.scan_out {
        return Choice::Composite(Reason::Unable);
    }
    let output = Rect::from_size(scene.size());
    let on_plane = |element: &Element| abilities.cursor_plane && element.role == Role::Cursor;
    let shows = |element: &Element| element.alpha > 0.0 && element.dst.overlaps(output) && !on_plane(element);
    let Some((index, front)) = scene.elements().iter().enumerate().rev().find(|(_, element)| shows(element)) else {
        return Choice::Composite(Reason::Empty);
    };
    match reason_against(scene, front, output) {
        Some(reason) => Choice::Composite(reason),
        None => Choice::ScanOut(index),
    }
}

fn reason_against(scene: &Scene, front: &Element, output: Rect) -> Option<Reason> {
    let covers = front.dst.contains_rect(output);
    // One rectangle must do: opaque regions in several pieces are not joined here.
    let opaque = scene.opaque(front).iter().any(|rect| rect.contains_rect(output));
    let Paint::Texture { source, .. } = front.paint else { return Some(Reason::NoBuffer) };
    let whole = source.as_integer() == Some(Rect::from_size(front.buffer_size));
    let as_it_is = front.dst == output && whole && unscaled_origin(front).is_some();
    [
        (covers, Reason::Partial),
        (opaque, Reason::Translucent),
        (front.buffer.is_some(), Reason::NoBuffer),
        (as_it_is, Reason::Shaped),
    ]
    .into_iter()
    .find_map(|(holds, reason)| (!holds).then_some(reason))
}

#[cfg(test)]
mod tests {
    use super::super::buffer::{BufferId, TextureId};
    use super::super::geometry::{RectF, Size};
    use super::super::scene::{Color, ElementId, Filter};
    use super::super::transform::Transform;
    use super::*;

    const SIZE: Size = Size::new(64, 48);
    const OUTPUT: Rect = Rect::from_size(SIZE);
    const ABLE: Abilities = Abilities { scan_out: true, cursor_plane: true };

    /// What a scene is made of, back to front: an element and its opaque part.
    type Layer = (Element, Rect);

    fn full() -> Layer {
        let paint = Paint::Texture {
            texture: TextureId(1),
            source: OUTPUT.to_f64(),
            transform: Transform::Normal,
            filter: Filter::Linear,
        };
        let element = Element {
            id: ElementId(1),
            role: Role::Content,
            content: Default::default(),
            paint,
            dst: OUTPUT,
            alpha: 1.0,
            opaque: Default::default(),
            damage: Default::default(),
            buffer: Some(BufferId(1)),
            buffer_size: SIZE,
        };
        (element, OUTPUT)
    }

    fn at(dst: Rect) -> Layer {
        (Element { dst, ..full().0 }, dst)
    }

    fn with(change: impl FnOnce(&mut Layer)) -> Layer {
        let mut layer = full();
        change(&mut layer);
        layer
    }

    fn cursor() -> Layer {
        (Element { role: Role::Cursor, ..at(Rect::new(10, 10, 8, 8)).0 }, Rect::default())
    }

    fn shaped(source: RectF, transform: Transform) -> Layer {
        with(|(element, _)| {
            let filter = Filter::Linear;
            element.paint = Paint::Texture { texture: TextureId(1), source, transform, filter };
        })
    }

    fn chosen(layers: &[Layer], abilities: Abilities) -> Choice {
        let mut scene = Scene::new();
        scene.reset(SIZE, Color::BLACK);
        for &(element, opaque) in layers {
            let opaque = scene.span(element.dst, [opaque]);
            scene.push(Element { opaque, ..element });
        }
        choose(&scene, abilities)
    }

    #[test]
    fn choose_scans_out() {
        let outside = at(Rect::new(64, 0, 10, 10));
        let invisible = with(|(element, _)| element.alpha = 0.0);
        let table: &[(&str, &[Layer], usize)] = &[
            ("a fullscreen opaque buffer", &[full()], 0),
            ("it over anything", &[at(Rect::new(3, 3, 9, 9)), full()], 1),
            ("it beneath the cursor's plane", &[full(), cursor()], 0),
            ("it beneath what is off the output", &[full(), outside], 0),
            ("it beneath what is wholly transparent", &[full(), invisible], 0),
        ];
        for &(name, layers, index) in table {
            assert_eq!(chosen(layers, ABLE), Choice::ScanOut(index), "{name}");
        }
    }

    #[test]
    fn choose_composites_with_the_reason() {
        let popup = at(Rect::new(3, 3, 9, 9));
        let opaque_half = with(|(_, opaque)| *opaque = Rect::new(0, 0, 32, 48));
        let faded = with(|(element, _)| element.alpha = 0.99);
        let solid = with(|(element, _)| element.paint = Paint::Solid(Color::BLACK));
        let bufferless = with(|(element, _)| element.buffer = None);
        let larger_buffer = with(|(element, _)| element.buffer_size = Size::new(65, 48));
        let larger = at(Rect::new(-1, 0, 66, 48));
        let cropped = shaped(RectF::new(1.0, 0.0, 64.0, 48.0), Transform::Normal);
        let scaled = shaped(RectF::new(0.0, 0.0, 32.0, 24.0), Transform::Normal);
        let turned = shaped(OUTPUT.to_f64(), Transform::Rot180);
        let table: &[(&str, &[Layer], Reason)] = &[
            ("an empty scene", &[], Reason::Empty),
            ("only a cursor on its plane", &[cursor()], Reason::Empty),
            ("a window", &[popup], Reason::Partial),
            ("a popup above", &[full(), popup], Reason::Partial),
            ("a half opaque one", &[opaque_half], Reason::Translucent),
            ("a faded one", &[full(), faded], Reason::Translucent),
            ("a colour", &[full(), solid], Reason::NoBuffer),
            ("one without a buffer", &[bufferless], Reason::NoBuffer),
            ("a part of a buffer", &[larger_buffer], Reason::Shaped),
            ("one past the edges", &[larger], Reason::Shaped),
            ("a cropped one", &[cropped], Reason::Shaped),
            ("a scaled one", &[scaled], Reason::Shaped),
            ("a turned one", &[turned], Reason::Shaped),
        ];
        for &(name, layers, reason) in table {
            assert_eq!(chosen(layers, ABLE), Choice::Composite(reason), "{name}");
        }
    }

    #[test]
    fn choose_composites_where_the_output_lacks_the_ability() {
        let none = Abilities { scan_out: false, ..ABLE };
        assert_eq!(chosen(&[full()], none), Choice::Composite(Reason::Unable));
        let no_cursor_plane = Abilities { cursor_plane: false, ..ABLE };
        assert_eq!(chosen(&[full(), cursor()], no_cursor_plane), Choice::Composite(Reason::Partial));
        assert_eq!(chosen(&[full()], no_cursor_plane), Choice::ScanOut(0));
    }
}
