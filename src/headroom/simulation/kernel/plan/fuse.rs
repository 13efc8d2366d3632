//! The steps of a run: each instruction becomes one, or several that always follow each other do.
//!
//! A visit of a queueing network takes seven instructions, each of which costs a dispatch that the
//! processor has to predict, and asks what is known before the run. The fused steps have the same
//! positions, and an instruction that another one has swallowed remains, so every position keeps
//! its meaning: jobs wait at the same positions, and checks and messages read the original.
//!
//! Invariant: a run of fused steps has the same results, bit for bit, as one of single steps,
//! which a run with a trace walks (tested in `random_models`).

use crate::simulation::kernel::plan::choice::Rule;
use crate::simulation::kernel::plan::compile::position;
use crate::simulation::kernel::plan::instruction::{
    Act, COMPUTED, Instruction, NO_AMOUNT, Step, Wait,
};
use crate::simulation::kernel::plan::program::{Order, Plan};

/// Return the steps of `plan`, one for each instruction.
pub fn single(plan: &Plan) -> Vec<Step> {
    let own = plan.instructions.iter();
    own.map(|&instruction| step(plan, instruction)).collect()
}

/// Return the step that does what `instruction` does and nothing else.
fn step(plan: &Plan, instruction: Instruction) -> Step {
    match instruction {
        Instruction::Jump { to } => Step::Jump { to },
        Instruction::Call { entry } => Step::Call { entry },
        Instruction::Return => Step::Return,
        Instruction::Think { source } => Step::Think { source },
        Instruction::Wait(wait) => Step::Wait(wait),
        Instruction::Act(Act::Choose { choice }) => match plan.choices[choice as usize].rule {
            Rule::Probability(_) => Step::Draw { choice },
            _ => Step::Act(Act::Choose { choice }),
        },
        Instruction::Act(act) => Step::Act(act),
    }
}

/// Return the steps of `plan`, fused where possible.
pub fn fuse(plan: &Plan) -> Vec<Step> {
    let mut fuser = Fuser {
        plan,
        uses: vec![0; plan.stations.len()],
        is_drawn: vec![true; plan.stations.len()],
        callers: vec![Callers::None; plan.programs.len()],
        is_reserving: plan.stations.iter().any(|one| one.is_reserving),
    };
    for (&instruction, at) in plan.instructions.iter().zip(0..) {
        fuser.count(instruction, at);
    }
    (0..plan.instructions.len())
        .map(|at| fuser.at(at))
        .collect()
}

/// Where a program is called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Callers {
    None,
    /// The position after its only call.
    Only(u32),
    Other,
}

/// Facts about all instructions together.
struct Fuser<'plan> {
    plan: &'plan Plan,
    /// How many instructions use each station.
    uses: Vec<u32>,
    /// Whether all services at each station are drawn: who begins one need not compute.
    is_drawn: Vec<bool>,
    callers: Vec<Callers>,
    /// Whether a service may need a place at another station first.
    is_reserving: bool,
}

impl Fuser<'_> {
    fn count(&mut self, instruction: Instruction, at: u32) {
        match instruction {
            Instruction::Wait(Wait::Use { station, amount }) => {
                self.uses[station as usize] += 1;
                self.is_drawn[station as usize] &= amount & COMPUTED == 0;
            }
            Instruction::Call { entry } => {
                let callers = self.callers_of(entry);
                *callers = match *callers {
                    Callers::None => Callers::Only(at + 1),
                    _ => Callers::Other,
                };
            }
            Instruction::Act(Act::CallAndWait { entry } | Act::Start { entry }) => {
                *self.callers_of(entry) = Callers::Other;
            }
            _ => {}
        }
    }

    fn callers_of(&mut self, entry: u32) -> &mut Callers {
        let program = self.plan.sites[entry as usize].program;
        let program = program.expect("an entry is a position of its program");
        &mut self.callers[program as usize]
    }

    /// Return the step that replaces the instruction at `at` and those that follow it.
    fn at(&self, at: usize) -> Step {
        let own = self.plan.instructions[at];
        let fused = match own {
            Instruction::Wait(Wait::Use { station, amount }) => self.visit(station, amount),
            Instruction::Jump { .. } => Some(self.end_of_jump(self.landing(at))),
            Instruction::Return => Some(self.end_of_program(at)),
            Instruction::Act(Act::Complete { class }) => self.completion(at, class),
            Instruction::Act(Act::Begin { class }) => match self.plan.instructions[at + 1] {
                Instruction::Call { entry } => Some(Step::BeginCall { class, entry }),
                _ => None,
            },
            Instruction::Think { source } => self.arrival(at, source),
            _ => None,
        };
        fused.unwrap_or_else(|| step(self.plan, own))
    }

    /// Return the step for a jump that leads to `to` in the end.
    fn end_of_jump(&self, to: usize) -> Step {
        match self.plan.instructions[to] {
            Instruction::Return => self.end_of_program(to),
            Instruction::Act(Act::Exit) => Step::Act(Act::Exit),
            _ => Step::Jump { to: position(to) },
        }
    }

    fn visit(&self, station: u32, amount: u32) -> Option<Step> {
        let plan = &self.plan.stations[station as usize];
        if !self.is_drawn[station as usize] {
            return None;
        }
        let source = amount;
        if plan.is_bounded() && !self.is_reserving {
            return Some(Step::UseBounded { station, source });
        }
        if plan.is_special() {
            return None;
        }
        Some(match plan.order {
            Order::Fifo => Step::UseFifo {
                station,
                source,
                is_only: self.uses[station as usize] == 1,
            },
            _ => Step::UseOrdered { station, source },
        })
    }

    /// Return the step for the end of a program at `at`: if it is called from one place only,
    /// that of the steps there.
    fn end_of_program(&self, at: usize) -> Step {
        let program = self.plan.sites[at].program;
        let callers = program.map(|index| self.callers[index as usize]);
        let Some(Callers::Only(back)) = callers else {
            return Step::Return;
        };
        // In the frame of a class the stack is empty otherwise.
        match self.plan.instructions[back as usize] {
            Instruction::Act(Act::Complete { class }) => self.completion(back as usize, class),
            _ => None,
        }
        .unwrap_or(Step::Return)
    }

    /// Return the step for the completion at `at` and the steps after it.
    fn completion(&self, at: usize, class: u32) -> Option<Step> {
        let to = self.landing(at + 1);
        match self.plan.instructions[to] {
            Instruction::Act(Act::Begin { class: same }) if same == class && to + 2 == at => {
                match self.plan.instructions[to + 1] {
                    Instruction::Call { entry } => Some(Step::Again { class, entry }),
                    _ => None,
                }
            }
            Instruction::Think { source } => Some(Step::Rest {
                class,
                think: position(to),
                source,
            }),
            Instruction::Act(Act::Exit) => Some(Step::Finish { class }),
            _ => None,
        }
    }

    /// Return the step for the wait at `at`, if it is that for the next arrival, which brings
    /// nothing.
    fn arrival(&self, at: usize, source: u32) -> Option<Step> {
        let next = self.plan.instructions.get(at + 1..at + 5)?;
        match *next {
            [
                Instruction::Act(Act::Spawn {
                    class,
                    amount: NO_AMOUNT,
                }),
                Instruction::Jump { to },
                Instruction::Act(Act::Begin { .. }),
                Instruction::Call { entry },
            ] if to as usize == at && self.plan.attributes.is_empty() => Some(Step::AwaitNext {
                class,
                entry,
                source,
            }),
            _ => None,
        }
    }

    /// Return where the jumps from `at` lead.
    fn landing(&self, at: usize) -> usize {
        let mut last = at;
        // Jumps may go round in circles.
        for _ in 0..self.plan.instructions.len() {
            match self.plan.instructions[last] {
                Instruction::Jump { to } => last = to as usize,
                _ => break,
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::simulation::kernel::plan::compile::compile;
    use crate::simulation::kernel::plan::model::Stop;
    use crate::simulation::kernel::random::distribution::Sampling;

    fn law() -> Value {
        json!({"kind": "exponential", "mean": 1})
    }

    fn visit(station: &str) -> Value {
        json!({"op": "use", "station": station, "service": law(), "stream": 1})
    }

    /// Compile a model of stations, of which only what is special is given.
    fn plan(stations: &Value, programs: &Value, classes: &Value) -> Plan {
        let mut stations = stations.clone();
        for station in stations.as_array_mut().expect("stations") {
            for (key, value) in [
                ("servers", json!(1)),
                ("discipline", json!("fcfs")),
                ("when_full", json!("block")),
            ] {
                let own = station.as_object_mut().expect("a station");
                own.entry(key).or_insert(value);
            }
        }
        let model = json!({"format": 2, "name": "model", "time_unit": "s", "stop": {},
                           "stations": stations, "pools": [], "programs": programs,
                           "classes": classes});
        let model = serde_json::from_value(model).expect("model data");
        let stop = Stop {
            completions: Some(1),
            time: None,
        };
        compile(&model, stop, Sampling::Fast, &[]).expect("a model")
    }

    fn closed(program: &str) -> Value {
        json!({"kind": "closed", "name": program, "program": program, "population": 2,
               "stream": 2})
    }

    /// Return what a job meets from `at` on until it waits.
    fn met(steps: &[Step], mut at: usize) -> Vec<Step> {
        let mut found = Vec::new();
        loop {
            found.push(steps[at]);
            at = match steps[at] {
                Step::Again { entry, .. } | Step::BeginCall { entry, .. } => entry as usize,
                Step::Jump { to } => to as usize,
                _ => return found,
            };
        }
    }

    #[test]
    fn a_visit_of_a_closed_class_is_two_instructions() {
        let stations = json!([{"name": "cpu"}, {"name": "disk"}]);
        let branch = json!([
            visit("cpu"),
            {"op": "branch", "choice": {"kind": "probability"}, "stream": 3},
            {"op": "case", "probability": 0.5}, visit("disk"), {"op": "end"},
            {"op": "case", "probability": 0.5}, visit("disk"), {"op": "end"},
            {"op": "end"},
        ]);
        let programs = json!([{"name": "cycle", "steps": branch}]);
        let plan = plan(&stations, &programs, &json!([closed("cycle")]));
        let steps = fuse(&plan);
        let places: Vec<usize> = (0..steps.len())
            .filter(|&at| matches!(steps[at], Step::UseFifo { station: 1, .. }))
            .collect();
        assert_eq!(places.len(), 2);
        for at in places {
            let Step::UseFifo { is_only, .. } = steps[at] else {
                unreachable!("it was found as one");
            };
            assert!(!is_only, "two instructions use the disk");
            let [
                Step::Again { .. },
                Step::UseFifo {
                    station: 0,
                    is_only,
                    ..
                },
            ] = met(&steps, at + 1)[..]
            else {
                panic!("after a visit comes {:?}", met(&steps, at + 1));
            };
            assert!(is_only, "one instruction uses the processor");
        }
    }

    #[test]
    fn a_program_that_two_classes_call_returns_to_each() {
        let stations = json!([{"name": "cpu"}]);
        let programs = json!([
            {"name": "one", "steps": [visit("cpu"), {"op": "call", "program": "two"}]},
            {"name": "two", "steps": [visit("cpu")]},
        ]);
        let plan = plan(&stations, &programs, &json!([closed("one"), closed("two")]));
        let steps = fuse(&plan);
        let returns = steps.iter().filter(|&&step| step == Step::Return);
        assert_eq!(returns.count(), 1, "{steps:?}");
        let again = |step: &&Step| matches!(step, Step::Again { .. });
        // The frame of each class, and the end of the program that only one class walks.
        assert_eq!(steps.iter().filter(again).count(), 3, "{steps:?}");
    }

    #[test]
    fn arrivals_and_thinking_are_one_instruction_each() {
        let stations = json!([{"name": "cpu"}]);
        let programs = json!([{"name": "one", "steps": [visit("cpu")]},
                              {"name": "two", "steps": [visit("cpu")]}]);
        let mut thinking = closed("two");
        thinking["think"] = law();
        let open = json!({"kind": "open", "name": "open", "program": "one",
                          "interarrival": law(), "stream": 4});
        let plan = plan(&stations, &programs, &json!([open, thinking]));
        let steps = fuse(&plan);
        let has = |is: fn(&Step) -> bool| steps.iter().any(is);
        assert!(has(|one| matches!(one, Step::AwaitNext { .. })));
        assert!(has(|one| matches!(one, Step::Finish { .. })));
        assert!(has(|one| matches!(one, Step::Rest { .. })));
        assert!(has(|one| matches!(one, Step::BeginCall { .. })));
    }

    #[test]
    fn a_station_of_which_only_the_order_is_another_has_its_own_instruction() {
        let stations = json!([
            {"name": "stack", "discipline": "lcfs"}, {"name": "vip", "discipline": "priority"},
            {"name": "pushy", "discipline": "priority_preempt"},
        ]);
        let visits: Vec<Value> = ["stack", "vip", "pushy"].map(visit).into();
        let programs = json!([{"name": "cycle", "steps": visits}]);
        let plan = plan(&stations, &programs, &json!([closed("cycle")]));
        let steps = fuse(&plan);
        let is_ordered = |step: &Step| matches!(step, Step::UseOrdered { .. });
        assert_eq!(
            steps[..3].iter().map(is_ordered).collect::<Vec<_>>(),
            [true, true, false]
        );
    }

    #[test]
    fn a_station_with_anything_special_keeps_its_instruction() {
        let stations = json!([
            {"name": "plain"}, {"name": "full", "buffer": 1},
            {"name": "ps", "discipline": "ps"}, {"name": "stack", "discipline": "lcfs"},
            {"name": "fast", "speeds": [2.0]},
        ]);
        let visits: Vec<Value> = ["plain", "full", "ps", "stack", "fast"].map(visit).into();
        let programs = json!([{"name": "cycle", "steps": visits}]);
        let plan = plan(&stations, &programs, &json!([closed("cycle")]));
        let kinds: Vec<&str> = fuse(&plan)[..5]
            .iter()
            .map(|step| match step {
                Step::UseBounded { .. } => "bounded",
                Step::UseFifo { .. } => "fifo",
                Step::Wait(Wait::Use { .. }) => "other",
                _ => "none",
            })
            .collect();
        // A job that finds the second station full keeps its server of the first.
        assert_eq!(kinds, ["bounded", "bounded", "other", "other", "other"]);
    }
}
