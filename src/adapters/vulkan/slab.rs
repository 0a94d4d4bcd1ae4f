//! Values under keys that are never given twice.

/// A key's low half is the place, its high half how often the place was used before.
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
    len: u64,
}

struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new(), len: 0 }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Puts a value in and tells its key, which is never zero.
    pub(super) fn insert(&mut self, value: T) -> u64 {
        self.len += 1;
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, value: None });
            // Room to take every place back without allocating.
            self.free.reserve(self.places.len());
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[at as usize];
        place.generation += 1; // `remove` retires a place whose generations are used up
        place.value = Some(value);
        u64::from(place.generation) << 32 | u64::from(at)
    }

    pub(super) fn get(&self, key: u64) -> Option<&T> {
        let place = self.places.get(key as u32 as usize)?;
        place.value.as_ref().filter(|_| u64::from(place.generation) == key >> 32)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        let place = self.places.get_mut(key as u32 as usize)?;
        place.value.as_mut().filter(|_| u64::from(place.generation) == key >> 32)
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<T> {
        let place = self.places.get_mut(key as u32 as usize)?;
        if u64::from(place.generation) != key >> 32 {
            return None;
        }
        let value = place.value.take()?;
        self.len -= 1;
        if place.generation < u32::MAX {
            self.free.push(key as u32);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_removed_value_finds_nothing_though_its_place_is_used_again() {
        let mut slab = Slab::new();
        let a = slab.insert('a');
        let b = slab.insert('b');
        assert_eq!(slab.remove(a), Some('a'));
        assert_eq!(slab.remove(a), None);
        let c = slab.insert('c');
        assert_ne!(a, c);
        assert_eq!(slab.get_mut(c).copied(), Some('c'));
        assert_eq!((slab.get(a), slab.get(b)), (None, Some(&'b')));
        assert_eq!((slab.get(0), slab.get(u64::MAX), slab.len()), (None, None, 2));
    }

    #[test]
    fn place_with_used_up_generations_is_not_used_again() {
        let mut slab = Slab::new();
        let first = slab.insert(1);
        slab.places[0].generation = u32::MAX;
        assert_eq!(slab.remove(u64::from(u32::MAX) << 32), Some(1));
        assert_eq!(slab.insert(2) as u32, 1);
        assert_eq!(slab.get(first), None);
    }
}
