//! Where requests begin in a stream of bytes: object and opcode of each, read as they pass, whatever pieces they come in.
//!
//! What the bytes mean beyond that is the display's to say; a stream that cannot be a conversation (a request shorter
//! than its own head) is not followed any further, since the display ends it.

/// Bytes of a request's head: the object's id, then its size in bytes (high 16 bits) and opcode (low 16 bits).
const HEAD: usize = 8;

/// See the module's docs.
#[derive(Debug, Default)]
pub(super) struct Framing {
    head: [u8; HEAD],
    /// Bytes of the head that came.
    had: usize,
    /// Bytes of the request's body that are still to come.
    body: usize,
    lost: bool,
}

impl Framing {
    /// Follows `bytes`; calls `met` for each request whose head is complete with them: object, opcode.
    pub(super) fn follow(&mut self, mut bytes: &[u8], mut met: impl FnMut(u32, u16)) {
        while !bytes.is_empty() && !self.lost {
            if self.body > 0 {
                let passed = self.body.min(bytes.len());
                self.body -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            let taken = (HEAD - self.had).min(bytes.len());
            self.head[self.had..self.had + taken].copy_from_slice(&bytes[..taken]);
            self.had += taken;
            bytes = &bytes[taken..];
            if self.had == HEAD {
                self.had = 0;
                let [a, b, c, d, e, f, g, h] = self.head;
                let (object, word) = (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]));
                match ((word >> 16) as usize).checked_sub(HEAD) {
                    Some(body) => self.body = body,
                    None => self.lost = true,
                }
                met(object, word as u16);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(object: u32, opcode: u32, body: usize) -> Vec<u8> {
        let word = ((HEAD + body) as u32) << 16 | opcode;
        [&object.to_ne_bytes()[..], &word.to_ne_bytes(), &vec![0xff; body]].concat()
    }

    #[test]
    fn requests_in_pieces_of_any_length_are_all_met() {
        let stream =
            [request(1, 2, 0), request(7, 65_535, 12), request(0xff00_0000, 1, 65_527), request(3, 0, 4)].concat();
        let all = [(1, 2), (7, 65_535), (0xff00_0000, 1), (3, 0)];
        for piece in [1, 2, 3, 5, 7, 8, 9, 12, 64, 4096, stream.len()] {
            let (mut framing, mut met) = (Framing::default(), Vec::new());
            for part in stream.chunks(piece) {
                framing.follow(part, |object, opcode| met.push((object, opcode)));
            }
            assert_eq!(met, all, "pieces of {piece}");
        }
    }

    #[test]
    fn request_shorter_than_its_head_is_the_last_that_is_followed() {
        let mut met = 0;
        let bytes = [&5_u32.to_ne_bytes()[..], &(7_u32 << 16).to_ne_bytes(), &request(1, 1, 0)].concat();
        Framing::default().follow(&bytes, |_, _| met += 1);
        assert_eq!(met, 1);
    }
}
