//! Places: how many of a kind may be there at once.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts holders of places by key.
#[derive(Debug)]
pub(crate) struct Places<K> {
    max_per_key: usize,
    taken: Arc<Mutex<BTreeMap<K, usize>>>,
}

/// A place, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place<K: Ord> {
    key: K,
    taken: Arc<Mutex<BTreeMap<K, usize>>>,
}

impl<K: Ord + Clone> Places<K> {
    pub(crate) fn new(max_per_key: usize) -> Self {
        let taken = Arc::default();
        Self { max_per_key, taken }
    }

    /// Return how many places each key has taken.
    pub(crate) fn counts(&self) -> Vec<(K, usize)> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = taken.iter().map(|(key, count)| (key.clone(), *count));
        counts.collect()
    }

    /// Take a place; nothing if this key has all it may have.
    pub(crate) fn take(&self, key: K) -> Option<Place<K>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(key.clone()).or_default();
        if *count >= self.max_per_key {
            if *count == 0 {
                taken.remove(&key);
            }
            return None;
        }
        *count += 1;
        drop(taken);
        let taken = Arc::clone(&self.taken);
        Some(Place { key, taken })
    }
}

impl<K: Ord> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.key);
            }
        }
    }
}

/// Return the key of a client: an address of IPv4, a /64 network of IPv6, as a single host
/// has all addresses of one.
pub(crate) fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(network).into()
        }
        IpAddr::V4(address) => address.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_places_and_gets_them_back() {
        let places = Places::new(2);
        let (first, _second) = (places.take("a").unwrap(), places.take("a").unwrap());
        assert!(places.take("a").is_none());
        let other = places.take("b");
        assert!(other.is_some());
        drop(first);
        assert!(places.take("a").is_some());
    }

    #[test]
    fn keys_without_holders_need_no_memory() {
        let places = Places::new(1);
        drop(places.take("a"));
        assert!(Places::new(0).take("a").is_none());
        assert!(places.taken.lock().unwrap().is_empty());
    }

    #[test]
    fn a_network_of_version_6_is_one_client() {
        let client = |text: &str| client(text.parse().unwrap());
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
    }
}
