//! Sentences that hold in each state.

use super::world::{Rules, WorldOf};
use crate::systems::shared_memory::protocol::{Protocol, Value, View};

impl<P: Protocol> Rules<'_, P> {
    /// Check a state.
    ///
    /// # Errors
    ///
    /// The sentence that does not hold.
    pub(super) fn check(&self, world: &WorldOf<P>) -> Result<(), String> {
        if let Some(entries) = self.limits.entries {
            let tracked = world.homes.iter();
            let count = tracked.filter(|home| self.protocol.home_view(home).is_held);
            if count.count() > entries {
                return Err(format!("more than {entries} lines are tracked"));
            }
        }
        for line in 0..self.limits.lines {
            self.check_line(world, line)?;
        }
        if self.is_quiet(world) {
            for (line, home) in world.homes.iter().enumerate() {
                let copies = self.copies(world, line);
                self.protocol
                    .check_quiet(home, copies)
                    .map_err(|why| format!("nothing is in progress, but {why}"))?;
            }
        } else if world.messages.is_empty() {
            return Err("an agent waits, and no message is in flight".into());
        }
        Ok(())
    }

    fn check_line(&self, world: &WorldOf<P>, line: usize) -> Result<(), String> {
        let home = self.protocol.home_view(&world.homes[line]);
        let mut views: Vec<View> = vec![home];
        let copies = self.copies(world, line);
        views.extend(copies.iter().map(|copy| self.protocol.view(copy)));
        let readable = views.iter().filter_map(|view| view.readable);
        if readable.clone().any(|value| value == Value::Old) {
            return Err("a copy with an old value can be read".into());
        }
        let writable = views.iter().filter(|view| view.is_writable).count();
        // The home's own write needs no copy elsewhere; the home's memory is one of the views.
        if writable > 1 || writable == 1 && readable.count() > 1 {
            return Err("a copy can be written while another can be read".into());
        }
        Ok(())
    }

    /// Return whether no operation is in progress.
    pub(super) fn is_quiet(&self, world: &WorldOf<P>) -> bool {
        world.messages.is_empty()
            && world
                .lines
                .iter()
                .all(|line| self.protocol.view(line).is_idle)
            && world
                .homes
                .iter()
                .all(|home| self.protocol.home_view(home).is_idle)
    }

    fn copies<'w>(&self, world: &'w WorldOf<P>, line: usize) -> &'w [P::Line] {
        &world.lines[line * self.limits.caches..(line + 1) * self.limits.caches]
    }
}
