//! Whose turn it is: what one client says must not keep another from being heard.

use std::cell::Cell;
use std::time::{Duration, Instant};

use transom::domain::frame::Time;

use crate::support::client::{Client, Host};

const MS: u64 = 1_000_000;

/// Says `count` requests that are answered, and sends as much of it as goes.
fn talk(client: &mut Client, count: usize) {
    for _ in 0..count {
        let tag = client.tag();
        client.connection.display().sync(&client.handle, tag);
    }
    let _ = client.connection.flush();
}

/// A turn of the server in which every look at the clock finds `step_ns` gone.
fn dispatch(host: &mut Host, step_ns: u64) {
    let clock = Cell::new(0);
    let tick = || Time::from_ns(clock.replace(clock.get() + step_ns));
    host.server.dispatch(host.now, tick).expect("the clients can be read");
    host.server.flush(host.now).expect("the clients can be written");
}

/// Answers that came.
fn answers(client: &mut Client) -> usize {
    while client.connection.prepare_read().is_some_and(|guard| guard.read().is_ok_and(|count| count > 0)) {
        client.queue.dispatch_pending(&mut client.events).expect("a connection without an error");
    }
    client.queue.dispatch_pending(&mut client.events).expect("a connection without an error");
    std::mem::take(&mut client.events.done).len()
}

#[test]
fn client_with_much_to_say_is_interrupted_for_another() {
    let mut host = Host::new();
    let (mut loud, mut other) = (host.connect(), host.connect());
    talk(&mut loud, 4000);
    talk(&mut other, 1);
    dispatch(&mut host, MS / 8);
    assert_eq!(answers(&mut other), 1);
    let heard = answers(&mut loud);
    assert!(heard > 0 && heard < 4000, "{heard} answers before the outputs were looked after");
    assert!(host.server.next_wake().is_some_and(|at| at <= host.now), "the rest is not forgotten");
    let end = Instant::now() + Duration::from_secs(30);
    let mut left = 4000 - heard;
    while left > 0 {
        assert!(Instant::now() < end, "{left} are never heard");
        dispatch(&mut host, MS / 8);
        let _ = loud.connection.flush();
        left -= answers(&mut loud);
    }
}

#[test]
fn client_whose_turn_overran_rests_as_long_beside_another_and_not_alone() {
    for beside in [true, false] {
        let mut host = Host::new();
        let mut costly = host.connect();
        let mut other = beside.then(|| host.connect());
        host.now = host.now.plus_ns(500 * MS); // all that connecting cost is long past
        if let Some(other) = &mut other {
            talk(other, 1);
            dispatch(&mut host, 0);
            assert_eq!(answers(other), 1);
        }
        talk(&mut costly, 1);
        dispatch(&mut host, 10 * MS);
        assert_eq!(answers(&mut costly), 1);
        talk(&mut costly, 1);
        host.now = host.now.plus_ns(MS);
        dispatch(&mut host, 0);
        assert_eq!(answers(&mut costly), usize::from(!beside), "beside another: {beside}");
        let Some(mut other) = other else { continue };
        talk(&mut other, 1);
        dispatch(&mut host, 0);
        assert_eq!(answers(&mut other), 1, "the other is heard meanwhile");
        let until = host.server.next_wake().expect("the rest ends");
        assert!(until > host.now.plus_ns(5 * MS) && until < host.now.plus_ns(100 * MS));
        host.now = until;
        dispatch(&mut host, 0);
        assert_eq!(answers(&mut costly), 1);
    }
}

#[test]
fn client_that_hung_up_behind_its_requests_is_heard_to_the_end() {
    let mut host = Host::new();
    let client = host.connect();
    let before = host.server.state.core.surfaces.count();
    let kept: Vec<_> = (0..1000).map(|_| client.surface()).collect();
    let _ = client.connection.flush();
    drop((kept, client));
    let traffic = host.server.traffic().bytes_in;
    for _ in 0..10 {
        host.dispatch();
    }
    assert!(host.server.traffic().bytes_in - traffic >= 1000 * 12, "all of it was read");
    assert_eq!(host.server.state.core.surfaces.count(), before);
    assert_eq!(host.server.state.core.client_count(), 0);
}
