//! Blocks of a program: compiling loops, branches, networks, forks and attempts into jumps.
//!
//! Each block is remembered while its steps are compiled. Its end fills in the positions that were
//! not known at its start, and checks that all paths through it agree on the resources held.

use crate::simulation::kernel::error::SimulationError;
use crate::simulation::kernel::plan::choice::{ChoicePlan, Rule};
use crate::simulation::kernel::plan::compile::{Compiler, UNKNOWN, position};
use crate::simulation::kernel::plan::expression::Code;
use crate::simulation::kernel::plan::instruction::{Act, Instruction, NO_AMOUNT, Wait};
use crate::simulation::kernel::plan::model::{Amount, Case, Choice, Rest, Route, Step};
use crate::simulation::kernel::plan::program::{AttemptPlan, ForkPlan, Site};
use crate::simulation::kernel::random::alias::AliasTable;

/// Allowed distance of the sum of a choice's probabilities from 1.
const PROBABILITY_TOLERANCE: f64 = 1e-9;

/// A block that was opened and not yet closed; `before` is the site at its start.
pub(in crate::simulation::kernel) enum Block {
    Loop { enter: u32, before: Site },
    Branch(OpenBranch),
    Case,
    Network(OpenNetwork),
    Node,
    Fork(OpenFork),
    Arm,
    Attempt(OpenAttempt),
    Work,
    Failed,
}

/// A branch whose cases are being collected.
pub(in crate::simulation::kernel) struct OpenBranch {
    at: u32,
    choice: Choice,
    key: u64,
    before: Site,
    held_after: Option<Vec<(u32, u32)>>,
    targets: Vec<u32>,
    cases: Vec<Case>,
    jumps: Vec<u32>,
}

/// A network whose nodes are being collected.
pub(in crate::simulation::kernel) struct OpenNetwork {
    before: Site,
    names: Vec<String>,
    entries: Vec<u32>,
    exits: Vec<NodeExit>,
}

/// The exit of a node.
struct NodeExit {
    at: u32,
    choice: Choice,
    routes: Vec<Route>,
    key: u64,
}

/// A fork whose arms are being collected.
pub(in crate::simulation::kernel) struct OpenFork {
    at: u32,
    before: Site,
    arms: Vec<u32>,
    quorum: Option<u32>,
    rest: Rest,
}

/// An attempt whose parts are being collected.
pub(in crate::simulation::kernel) struct OpenAttempt {
    attempt: u32,
    before: Site,
    pause: u32,
    loses: bool,
    held_after: Option<Vec<(u32, u32)>>,
    jumps: Vec<u32>,
}

impl Compiler {
    /// Compile a step that opens or closes a block.
    pub(in crate::simulation::kernel) fn block(
        &mut self,
        step: &Step,
    ) -> Result<(), SimulationError> {
        match step {
            Step::Branch { choice, stream } => {
                self.open_branch(choice, *stream);
                Ok(())
            }
            Step::Case {
                probability,
                condition,
                of,
            } => self.open_case(Case {
                probability: *probability,
                condition: condition.clone(),
                of: of.clone(),
            }),
            Step::Network => {
                let before = self.here.clone();
                self.blocks.push(Block::Network(OpenNetwork {
                    before,
                    names: Vec::new(),
                    entries: Vec::new(),
                    exits: Vec::new(),
                }));
                Ok(())
            }
            Step::Node {
                name,
                choice,
                to,
                stream,
            } => self.open_node(name, choice, to, *stream),
            Step::Fork { quorum, rest } => {
                self.open_fork(*quorum, *rest);
                Ok(())
            }
            Step::Arm => self.open_arm(),
            Step::Attempt {
                timeout,
                tries,
                pause,
                stream,
                pause_stream,
                loses,
            } => self.open_attempt(
                (timeout.as_ref(), *stream),
                *tries,
                (pause.as_ref(), *pause_stream),
                *loses,
            ),
            Step::Work => self.open_work(),
            Step::Failed => self.open_failed(),
            Step::End => self.close(),
            other => unreachable!("{other:?} opens and closes nothing"),
        }
    }

    pub(in crate::simulation::kernel) fn open_loop(&mut self, amount: u32) {
        let enter = self.emit(Act::LoopEnter {
            amount,
            exit: UNKNOWN,
        });
        let before = self.here.clone();
        self.here.slots += 1;
        self.blocks.push(Block::Loop { enter, before });
    }

    fn open_branch(&mut self, choice: &Choice, key: u64) {
        let at = self.emit(Act::Choose { choice: UNKNOWN });
        self.blocks.push(Block::Branch(OpenBranch {
            at,
            choice: choice.clone(),
            key,
            before: self.here.clone(),
            held_after: None,
            targets: Vec::new(),
            cases: Vec::new(),
            jumps: Vec::new(),
        }));
    }

    fn open_case(&mut self, case: Case) -> Result<(), SimulationError> {
        let target = self.next_position();
        let Some(Block::Branch(branch)) = self.blocks.last_mut() else {
            return self.refuse_here("a case must be inside a branch");
        };
        branch.targets.push(target);
        branch.cases.push(case);
        self.here = branch.before.clone();
        self.blocks.push(Block::Case);
        Ok(())
    }

    fn open_node(
        &mut self,
        name: &str,
        choice: &Choice,
        routes: &[Route],
        key: u64,
    ) -> Result<(), SimulationError> {
        let entry = self.next_position();
        let Some(Block::Network(network)) = self.blocks.last_mut() else {
            return self.refuse_here("a node must be inside a network");
        };
        if network.names.iter().any(|taken| taken == name) {
            return self.refuse_here(&format!("two nodes of a network are named '{name}'"));
        }
        network.names.push(name.to_owned());
        network.entries.push(entry);
        network.exits.push(NodeExit {
            at: UNKNOWN,
            choice: choice.clone(),
            routes: routes.to_vec(),
            key,
        });
        self.blocks.push(Block::Node);
        self.emit(Act::Node);
        Ok(())
    }

    fn open_fork(&mut self, quorum: Option<u32>, rest: Rest) {
        let at = self.emit(Act::Fork { fork: UNKNOWN });
        let before = self.here.clone();
        self.here.slots += 1;
        self.emit(Act::Join);
        self.here = before.clone();
        self.emit(Instruction::Jump { to: UNKNOWN });
        self.blocks.push(Block::Fork(OpenFork {
            at,
            before,
            arms: Vec::new(),
            quorum,
            rest,
        }));
    }

    fn open_arm(&mut self) -> Result<(), SimulationError> {
        let entry = self.next_position();
        let Some(Block::Fork(fork)) = self.blocks.last_mut() else {
            return self.refuse_here("an arm must be inside a fork");
        };
        fork.arms.push(entry);
        self.here = Site {
            program: fork.before.program,
            step: fork.before.step,
            is_in_arm: true,
            ..Site::default()
        };
        self.blocks.push(Block::Arm);
        Ok(())
    }

    fn open_attempt(
        &mut self,
        timeout: (Option<&Amount>, u64),
        tries: u32,
        pause: (Option<&Amount>, u64),
        loses: bool,
    ) -> Result<(), SimulationError> {
        if tries == 0 {
            return self.refuse_here("an attempt has no tries");
        }
        self.plan.has_extras |= timeout.0.is_some();
        let timeout = self.optional(timeout)?;
        let pause = self.optional(pause)?;
        self.plan.attempts.push(AttemptPlan {
            timeout,
            tries,
            work: UNKNOWN,
            again: UNKNOWN,
            failed: None,
        });
        let attempt = position(self.plan.attempts.len() - 1);
        self.blocks.push(Block::Attempt(OpenAttempt {
            attempt,
            before: self.here.clone(),
            pause,
            loses,
            held_after: None,
            jumps: Vec::new(),
        }));
        Ok(())
    }

    fn optional(&mut self, amount: (Option<&Amount>, u64)) -> Result<u32, SimulationError> {
        match amount {
            (Some(amount), key) => self.amount(amount, key),
            (None, _) => Ok(NO_AMOUNT),
        }
    }

    fn open_work(&mut self) -> Result<(), SimulationError> {
        let Some(Block::Attempt(open)) = self.blocks.last() else {
            return self.refuse_here("work must be inside an attempt");
        };
        if !open.jumps.is_empty() {
            return self.refuse_here("an attempt has two parts of work");
        }
        let attempt = open.attempt;
        let at = self.emit(Wait::Attempt { attempt });
        self.plan.attempts[attempt as usize].work = at + 1;
        self.here.slots += 1;
        self.blocks.push(Block::Work);
        Ok(())
    }

    fn open_failed(&mut self) -> Result<(), SimulationError> {
        let target = self.next_position();
        let Some(Block::Attempt(open)) = self.blocks.last() else {
            return self.refuse_here("a failure handler must be inside an attempt");
        };
        let attempt = open.attempt as usize;
        if open.jumps.is_empty() || self.plan.attempts[attempt].failed.is_some() {
            return self.refuse_here("an attempt fails before its work, or twice");
        }
        self.here = open.before.clone();
        self.plan.attempts[attempt].failed = Some(target);
        self.blocks.push(Block::Failed);
        Ok(())
    }

    /// Close the innermost block.
    fn close(&mut self) -> Result<(), SimulationError> {
        match self.blocks.pop() {
            None => self.refuse_here("an end closes nothing"),
            Some(Block::Loop { enter, before }) => self.close_loop(enter, &before),
            Some(Block::Case) => self.close_case(),
            Some(Block::Branch(branch)) => self.close_branch(branch),
            Some(Block::Node) => self.close_node(),
            Some(Block::Network(network)) => self.close_network(network),
            Some(Block::Arm) if self.here.held.is_empty() => {
                self.emit(Act::ArmEnd);
                Ok(())
            }
            Some(Block::Arm) => self.refuse_here("an arm ends while it still holds tokens"),
            Some(Block::Fork(fork)) => self.close_fork(fork),
            Some(Block::Work) => self.close_work(),
            Some(Block::Failed) => self.close_part(),
            Some(Block::Attempt(attempt)) => self.close_attempt(attempt),
        }
    }

    fn close_loop(&mut self, enter: u32, before: &Site) -> Result<(), SimulationError> {
        if self.here.held != before.held {
            return self.refuse_here("a loop changes what is held");
        }
        self.emit(Act::LoopNext { body: enter + 1 });
        self.here.slots -= 1;
        let next = self.next_position();
        let opened = &mut self.plan.instructions[enter as usize];
        if let Instruction::Act(Act::LoopEnter { exit, .. }) = opened {
            *exit = next;
        }
        Ok(())
    }

    fn close_case(&mut self) -> Result<(), SimulationError> {
        let jump = self.emit(Instruction::Jump { to: UNKNOWN });
        let held = self.here.held.clone();
        let Some(Block::Branch(branch)) = self.blocks.last_mut() else {
            return self.refuse_here("a case must be inside a branch");
        };
        branch.jumps.push(jump);
        if *branch.held_after.get_or_insert_with(|| held.clone()) != held {
            return self.refuse_here("the cases of a branch differ in what they hold");
        }
        Ok(())
    }

    fn close_branch(&mut self, branch: OpenBranch) -> Result<(), SimulationError> {
        let rule = self.rule(&branch.choice, &branch.cases)?;
        self.land(&branch.jumps);
        let choice = self.add_choice(branch.targets, rule, branch.key);
        self.plan.instructions[branch.at as usize] = Act::Choose { choice }.into();
        self.here = branch.before;
        if let Some(held) = branch.held_after {
            self.here.held = held;
        }
        Ok(())
    }

    /// Let all `jumps` lead to the next position.
    fn land(&mut self, jumps: &[u32]) {
        let to = self.next_position();
        for &jump in jumps {
            self.plan.instructions[jump as usize] = Instruction::Jump { to };
        }
    }

    fn add_choice(&mut self, targets: Vec<u32>, rule: Rule, key: u64) -> u32 {
        self.plan.choices.push(ChoicePlan { targets, rule, key });
        position(self.plan.choices.len() - 1)
    }

    fn rule(&mut self, choice: &Choice, cases: &[Case]) -> Result<Rule, SimulationError> {
        if cases.is_empty() {
            return self.refuse_here("a choice has no case");
        }
        let targets = |compiler: &Self| {
            let of = cases.iter().map(|case| compiler.target(case.of.as_ref()));
            of.collect::<Result<Vec<_>, _>>()
        };
        Ok(match choice {
            Choice::Probability => Rule::Probability(self.probabilities(cases)?),
            Choice::Condition => Rule::Condition(self.conditions(cases)?),
            Choice::RoundRobin => Rule::RoundRobin,
            Choice::ShortestQueue => Rule::ShortestQueue(targets(self)?),
            Choice::SampledQueue { sample: 0 } => {
                return self.refuse_here("a choice looks at no queue");
            }
            Choice::SampledQueue { sample } => Rule::SampledQueue(targets(self)?, *sample as usize),
            Choice::Hash { by } => Rule::Hash(self.code(by)?),
            Choice::Index { by } => Rule::Index(self.code(by)?),
        })
    }

    fn probabilities(&self, cases: &[Case]) -> Result<AliasTable, SimulationError> {
        let shares: Option<Vec<f64>> = cases.iter().map(|case| case.probability).collect();
        let Some(shares) = shares else {
            return self.refuse_here("a case has no probability");
        };
        let total: f64 = shares.iter().sum();
        let is_valid = shares.iter().all(|share| (0.0..=1.0).contains(share));
        if !is_valid || (total - 1.0).abs() > PROBABILITY_TOLERANCE {
            return self.refuse_here(&format!("the probabilities of a branch sum to {total}"));
        }
        Ok(AliasTable::new(&shares))
    }

    /// Compile the conditions of all cases but the last, which is for what is left.
    fn conditions(&mut self, cases: &[Case]) -> Result<Vec<Code>, SimulationError> {
        let given: Vec<_> = cases
            .iter()
            .map_while(|one| one.condition.as_ref())
            .collect();
        if given.len() + 1 != cases.len() {
            return self.refuse_here("the last case, and no other, must be for what is left");
        }
        given.into_iter().map(|terms| self.code(terms)).collect()
    }

    fn close_node(&mut self) -> Result<(), SimulationError> {
        let at = self.emit(Act::Choose { choice: UNKNOWN });
        let here = self.here.clone();
        let Some(Block::Network(network)) = self.blocks.last_mut() else {
            return self.refuse_here("a node must be inside a network");
        };
        if network.before.held != here.held {
            return self.refuse_here("a node of a network changes what is held");
        }
        if let Some(exit) = network.exits.last_mut() {
            exit.at = at;
        }
        Ok(())
    }

    fn close_network(&mut self, network: OpenNetwork) -> Result<(), SimulationError> {
        if network.entries.is_empty() {
            return self.refuse_here("a network has no node");
        }
        let out = self.next_position();
        for exit in network.exits {
            let mut targets = Vec::new();
            for route in &exit.routes {
                targets.push(match &route.node {
                    None => out,
                    Some(name) => match network.names.iter().position(|own| own == name) {
                        Some(place) => network.entries[place],
                        None => {
                            return self.refuse_here(&format!("no node is named '{name}'"));
                        }
                    },
                });
            }
            let cases: Vec<Case> = exit.routes.iter().map(case_of).collect();
            let rule = self.rule(&exit.choice, &cases)?;
            let choice = self.add_choice(targets, rule, exit.key);
            self.plan.instructions[exit.at as usize] = Act::Choose { choice }.into();
        }
        Ok(())
    }

    fn close_fork(&mut self, fork: OpenFork) -> Result<(), SimulationError> {
        let count = position(fork.arms.len());
        let quorum = fork.quorum.unwrap_or(count);
        if count == 0 {
            return self.refuse_here("a fork has no arm");
        }
        if quorum == 0 || quorum > count {
            return self.refuse_here(&format!("a fork waits for {quorum} of {count} arms"));
        }
        self.plan.has_extras |= fork.rest == Rest::Cancel;
        let index = position(self.plan.forks.len());
        self.plan.forks.push(ForkPlan {
            arms: fork.arms,
            quorum,
            is_cancelling: fork.rest == Rest::Cancel,
        });
        self.plan.instructions[fork.at as usize] = Act::Fork { fork: index }.into();
        self.land(&[fork.at + 2]);
        self.here = fork.before;
        Ok(())
    }

    /// After the work: the way back to the next try, and a jump beyond the attempt.
    fn close_work(&mut self) -> Result<(), SimulationError> {
        self.emit(Act::AttemptEnd);
        self.here.slots -= 1;
        self.close_part()?;
        let Some(Block::Attempt(open)) = self.blocks.last() else {
            return self.refuse_here("work must be inside an attempt");
        };
        let (attempt, pause) = (open.attempt, open.pause);
        let after = std::mem::replace(&mut self.here, open.before.clone());
        self.here.slots += 1;
        self.plan.attempts[attempt as usize].again = self.next_position();
        if pause != NO_AMOUNT {
            self.emit(Wait::Delay { amount: pause });
        }
        self.emit(Act::TryAgain { attempt });
        self.here = after;
        Ok(())
    }

    /// Close the work or the failed part of an attempt.
    fn close_part(&mut self) -> Result<(), SimulationError> {
        let jump = self.emit(Instruction::Jump { to: UNKNOWN });
        let held = self.here.held.clone();
        let Some(Block::Attempt(open)) = self.blocks.last_mut() else {
            return self.refuse_here("a part of an attempt must be inside it");
        };
        open.jumps.push(jump);
        if *open.held_after.get_or_insert_with(|| held.clone()) != held {
            return self.refuse_here("the parts of an attempt differ in what they hold");
        }
        Ok(())
    }

    fn close_attempt(&mut self, open: OpenAttempt) -> Result<(), SimulationError> {
        let Some(held) = open.held_after else {
            return self.refuse_here("an attempt has no work");
        };
        let plan = &mut self.plan.attempts[open.attempt as usize];
        if plan.failed.is_none() && !open.loses {
            plan.failed = Some(position(self.plan.instructions.len()));
            if held != open.before.held {
                return self
                    .refuse_here("the work of an attempt without a failed part keeps tokens");
            }
        }
        self.land(&open.jumps);
        self.here = open.before;
        self.here.held = held;
        Ok(())
    }
}

fn case_of(route: &Route) -> Case {
    Case {
        probability: route.probability,
        condition: route.condition.clone(),
        of: route.of.clone(),
    }
}
