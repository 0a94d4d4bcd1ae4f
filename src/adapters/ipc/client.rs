//! The other end of the control socket: one request, one answer, blocking, with a limit.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::protocol::{Answer, Reply, Request};

/// How long the compositor may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// Pictures larger than this are refused.
const MAX_PICTURE: u64 = 1 << 31;

/// Why there is no answer. Each says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The environment names no compositor.
    #[error("no compositor to talk to: run this inside Transom, or set TRANSOM_SOCKET or WAYLAND_DISPLAY")]
    Nobody,
    /// Nobody listens there.
    #[error("no compositor listens on {path}: is it running? TRANSOM_SOCKET or WAYLAND_DISPLAY choose another")]
    Connect {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The talk broke off.
    #[error("the compositor broke off the talk")]
    Io(#[from] io::Error),
    /// The answer is not understood.
    #[error("the answer is not understood: is the compositor of this version?")]
    Json(#[from] serde_json::Error),
    /// The compositor says no.
    #[error("{0}")]
    Refused(String),
}

/// Which socket the environment means: `$TRANSOM_SOCKET`, else the one beside `$WAYLAND_DISPLAY`.
///
/// # Errors
/// [`AskError::Nobody`].
pub fn socket_of(var: impl Fn(&str) -> Option<std::ffi::OsString>) -> Result<PathBuf, AskError> {
    let set = |name| var(name).filter(|value| !value.is_empty());
    if let Some(path) = set(super::SOCKET_VARIABLE) {
        return Ok(path.into());
    }
    let (dir, display) = set("XDG_RUNTIME_DIR").zip(set("WAYLAND_DISPLAY")).ok_or(AskError::Nobody)?;
    Ok(super::socket_path(Path::new(&dir), &display.to_string_lossy()))
}

/// Asks, and waits for the answer; the bytes that follow a screenshot's line come with it.
///
/// # Errors
/// [`AskError`].
pub fn ask(socket: &Path, request: &Request) -> Result<(Reply, Vec<u8>), AskError> {
    let connect = |source| AskError::Connect { path: socket.to_owned(), source };
    let mut stream = UnixStream::connect(socket).map_err(connect)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut reader = BufReader::new(stream);
    line.clear();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let reply = match serde_json::from_str(&line)? {
        Answer::Ok(reply) => reply,
        Answer::Error(why) => return Err(AskError::Refused(why)),
    };
    let mut bytes = Vec::new();
    if let Reply::Screenshot(picture) = &reply {
        let expected = picture.png_bytes.min(MAX_PICTURE);
        reader.take(expected).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != picture.png_bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
    Ok((reply, bytes))
}
