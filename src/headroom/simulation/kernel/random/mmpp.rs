//! The Markov-modulated Poisson process: Poisson arrivals whose rate jumps among states.
//!
//! The simulation is exact, without a time step: in each state the next arrival and the next jump
//! are competing exponentials, so one exponential gives the time of the next event and one choice
//! its kind. The process is stationary from the start.
//!
//! Sources: Fischer & Meier-Hellstern (1993), *The Markov-modulated Poisson process cookbook*;
//! Grassmann, Taksar & Heyman (1985), *Regenerative analysis and steady state distributions for
//! Markov chains* (the distribution of the state, without a subtraction).

use crate::simulation::kernel::random::alias::AliasTable;
use crate::simulation::kernel::random::stream::Stream;

/// The process as compiled.
#[derive(Clone, Debug)]
pub struct MmppPlan {
    start: AliasTable,
    states: Box<[State]>,
}

#[derive(Clone, Debug)]
struct State {
    /// Mean time (ticks) until an arrival or a jump.
    mean: f64,
    /// The event: an arrival (0), or a jump to the state before the index.
    event: AliasTable,
}

impl MmppPlan {
    /// Compile `rates` and `switch_rates`, both in 1/time unit of `scale` ticks.
    ///
    /// # Errors
    ///
    /// Fails, with the reason, if they do not define a process with endless arrivals.
    pub fn new(rates: &[f64], switch_rates: &[Vec<f64>], scale: f64) -> Result<Self, String> {
        check(rates, switch_rates)?;
        let states = rates.iter().zip(switch_rates).map(|(&rate, jumps)| {
            let total: f64 = rate + jumps.iter().sum::<f64>();
            let mut weights = vec![rate];
            weights.extend_from_slice(jumps);
            State {
                mean: scale / total,
                event: AliasTable::new(&weights),
            }
        });
        Ok(Self {
            states: states.collect(),
            start: AliasTable::new(&stationary(switch_rates)),
        })
    }

    /// Draw the state at the start.
    pub fn start(&self, stream: &mut Stream) -> u32 {
        self.start.draw(stream)
    }

    /// Let the state run on to the next arrival; return the ticks until then.
    pub fn gap(
        &self,
        state: &mut u32,
        stream: &mut Stream,
        unit: impl Fn(&mut Stream) -> f64,
    ) -> f64 {
        let mut ticks = 0.0;
        loop {
            let here = &self.states[*state as usize];
            ticks += unit(stream) * here.mean;
            match here.event.draw(stream) {
                0 => return ticks,
                jump => *state = jump - 1,
            }
        }
    }
}

fn check(rates: &[f64], switch_rates: &[Vec<f64>]) -> Result<(), String> {
    let is_rate = |rate: &f64| rate.is_finite() && *rate >= 0.0;
    let is_square = switch_rates.len() == rates.len()
        && switch_rates.iter().all(|row| row.len() == rates.len());
    if rates.is_empty() || !is_square {
        return Err("switch_rates needs a row and a column for each of the rates".to_owned());
    }
    if !rates.iter().all(is_rate) || !switch_rates.iter().flatten().all(is_rate) {
        return Err("a rate is negative or not a number".to_owned());
    }
    if switch_rates.iter().enumerate().any(|(i, row)| row[i] > 0.0) {
        return Err(
            "a state cannot switch to itself: the diagonal of switch_rates is 0".to_owned(),
        );
    }
    if rates.iter().all(|&rate| rate <= 0.0) {
        return Err("all rates are 0, so nothing ever arrives".to_owned());
    }
    if !(reaches_all(|i, j| switch_rates[i][j] > 0.0, rates.len())
        && reaches_all(|i, j| switch_rates[j][i] > 0.0, rates.len()))
    {
        return Err("some state cannot be reached from another one, or cannot be left".to_owned());
    }
    Ok(())
}

/// Return whether steps lead from state 0 to all of the `count` states.
fn reaches_all(is_step: impl Fn(usize, usize) -> bool, count: usize) -> bool {
    let mut is_reached = vec![false; count];
    is_reached[0] = true;
    let mut open = vec![0];
    while let Some(from) = open.pop() {
        for (to, reached) in is_reached.iter_mut().enumerate() {
            if !*reached && is_step(from, to) {
                *reached = true;
                open.push(to);
            }
        }
    }
    is_reached.into_iter().all(|reached| reached)
}

/// Return the share of time in each state, by eliminating one state after the other.
fn stationary(switch_rates: &[Vec<f64>]) -> Vec<f64> {
    let mut rates = switch_rates.to_vec();
    let count = rates.len();
    for last in (1..count).rev() {
        let out: f64 = rates[last][..last].iter().sum();
        for row in 0..last {
            let share = rates[row][last] / out;
            rates[row][last] = share;
            for column in (0..last).filter(|&column| column != row) {
                rates[row][column] += share * rates[last][column];
            }
        }
    }
    let mut shares = vec![1.0];
    for state in 1..count {
        let inflow = shares
            .iter()
            .zip(&rates)
            .map(|(share, row)| share * row[state]);
        shares.push(inflow.sum());
    }
    let total: f64 = shares.iter().sum();
    shares.iter().map(|share| share / total).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: in balance, what flows into each state flows out of it.
        #[test]
        fn the_shares_of_the_states_balance(
            entries in prop::collection::vec(0.01..10.0_f64, 25),
        ) {
            let mut rates: Vec<Vec<f64>> = entries.chunks(5).map(<[f64]>::to_vec).collect();
            for (state, row) in rates.iter_mut().enumerate() {
                row[state] = 0.0;
            }
            let shares = stationary(&rates);
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for state in 0..5 {
                let out: f64 = shares[state] * rates[state].iter().sum::<f64>();
                let into: f64 = (0..5).map(|from| shares[from] * rates[from][state]).sum();
                prop_assert!((out / into - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_process_without_arrivals_or_with_a_dead_end_is_refused() {
        let refuse = |rates: &[f64], rows: &[&[f64]], reason: &str| {
            let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
            let error = MmppPlan::new(rates, &rows, 1.0).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        };
        refuse(&[], &[], "a row and a column");
        refuse(&[1.0, 2.0], &[&[0.0, 1.0]], "a row and a column");
        refuse(&[1.0, -2.0], &[&[0.0, 1.0], &[1.0, 0.0]], "negative");
        refuse(&[1.0, 2.0], &[&[1.0, 1.0], &[1.0, 0.0]], "to itself");
        refuse(&[0.0, 0.0], &[&[0.0, 1.0], &[1.0, 0.0]], "nothing ever");
        refuse(&[1.0, 2.0], &[&[0.0, 1.0], &[0.0, 0.0]], "not be left");
    }
}
