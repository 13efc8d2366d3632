//! Blocks of a program: how loops, branches and forks become jumps.
//!
//! Each block is remembered while its steps are compiled; its end fills in the positions that
//! were not known at its start, and checks that all paths through it agree on what is held.

use super::alias::AliasTable;
use super::compile::{Compiler, UNKNOWN, position};
use super::error::SimulationError;
use super::program::{BranchPlan, Instruction};

/// Allowed distance of the sum of a branch's probabilities from 1.
const PROBABILITY_TOLERANCE: f64 = 1e-9;

/// A block that was opened and not yet closed; `held` is what is held before it.
pub(super) enum Block {
    Loop {
        enter: u32,
        held: Vec<(u32, u32)>,
    },
    Branch(OpenBranch),
    Case,
    Fork {
        fork: u32,
        held: Vec<(u32, u32)>,
        arms: Vec<u32>,
        slots: u32,
    },
    Arm,
}

/// A branch whose cases are being collected.
pub(super) struct OpenBranch {
    at: u32,
    key: u64,
    held_before: Vec<(u32, u32)>,
    held_after: Option<Vec<(u32, u32)>>,
    targets: Vec<u32>,
    probabilities: Vec<f64>,
    jumps: Vec<u32>,
}

impl Compiler {
    pub(super) fn open_branch(&mut self, key: u64) {
        let at = self.emit(Instruction::Branch { table: UNKNOWN });
        self.blocks.push(Block::Branch(OpenBranch {
            at,
            key,
            held_before: self.here.held.clone(),
            held_after: None,
            targets: Vec::new(),
            probabilities: Vec::new(),
            jumps: Vec::new(),
        }));
    }

    pub(super) fn open_case(&mut self, probability: f64) -> Result<(), SimulationError> {
        let target = self.next_position();
        let Some(Block::Branch(branch)) = self.blocks.last_mut() else {
            return self.refuse_here("a case stands outside a branch");
        };
        branch.targets.push(target);
        branch.probabilities.push(probability);
        self.here.held.clone_from(&branch.held_before);
        self.blocks.push(Block::Case);
        Ok(())
    }

    pub(super) fn open_fork(&mut self) {
        let fork = self.emit(Instruction::Fork {
            first: UNKNOWN,
            count: 0,
        });
        let (held, slots) = (self.here.held.clone(), self.here.slots);
        self.here.slots += 1;
        self.emit(Instruction::Join);
        self.here.slots = slots;
        self.emit(Instruction::Jump { to: UNKNOWN });
        self.blocks.push(Block::Fork {
            fork,
            held,
            arms: Vec::new(),
            slots,
        });
    }

    pub(super) fn open_arm(&mut self) -> Result<(), SimulationError> {
        let entry = self.next_position();
        let Some(Block::Fork { arms, .. }) = self.blocks.last_mut() else {
            return self.refuse_here("an arm stands outside a fork");
        };
        arms.push(entry);
        self.here.held.clear();
        self.here.slots = 0;
        self.blocks.push(Block::Arm);
        Ok(())
    }

    /// Close the innermost block.
    pub(super) fn close(&mut self) -> Result<(), SimulationError> {
        match self.blocks.pop() {
            None => self.refuse_here("an end closes nothing"),
            Some(Block::Loop { enter, held }) => self.close_loop(enter, &held),
            Some(Block::Case) => self.close_case(),
            Some(Block::Branch(branch)) => self.close_branch(branch),
            Some(Block::Arm) if self.here.held.is_empty() => {
                self.emit(Instruction::ArmEnd);
                Ok(())
            }
            Some(Block::Arm) => self.refuse_here("an arm ends while it still holds tokens"),
            Some(Block::Fork {
                fork,
                held,
                arms,
                slots,
            }) => {
                self.here.held = held;
                self.here.slots = slots;
                self.close_fork(fork, &arms)
            }
        }
    }

    fn close_loop(&mut self, enter: u32, held: &[(u32, u32)]) -> Result<(), SimulationError> {
        if self.here.held != held {
            return self.refuse_here("a loop changes what is held");
        }
        self.emit(Instruction::LoopNext { body: enter + 1 });
        self.here.slots -= 1;
        let next = self.next_position();
        if let Instruction::LoopEnter { exit, .. } = &mut self.plan.instructions[enter as usize] {
            *exit = next;
        }
        Ok(())
    }

    fn close_case(&mut self) -> Result<(), SimulationError> {
        let jump = self.emit(Instruction::Jump { to: UNKNOWN });
        let held = self.here.held.clone();
        let Some(Block::Branch(branch)) = self.blocks.last_mut() else {
            return self.refuse_here("a case stands outside a branch");
        };
        branch.jumps.push(jump);
        if *branch.held_after.get_or_insert_with(|| held.clone()) != held {
            return self.refuse_here("the cases of a branch differ in what they hold");
        }
        Ok(())
    }

    fn close_branch(&mut self, branch: OpenBranch) -> Result<(), SimulationError> {
        let total: f64 = branch.probabilities.iter().sum();
        let is_valid = branch
            .probabilities
            .iter()
            .all(|share| (0.0..=1.0).contains(share));
        if !is_valid || (total - 1.0).abs() > PROBABILITY_TOLERANCE {
            return self.refuse_here(&format!("the probabilities of a branch sum to {total}"));
        }
        let next = self.next_position();
        for jump in branch.jumps {
            self.plan.instructions[jump as usize] = Instruction::Jump { to: next };
        }
        let table = position(self.plan.branches.len());
        self.plan.instructions[branch.at as usize] = Instruction::Branch { table };
        self.plan.branches.push(BranchPlan {
            targets: branch.targets,
            table: AliasTable::new(&branch.probabilities),
            key: branch.key,
        });
        self.here.held = branch.held_after.unwrap_or(branch.held_before);
        Ok(())
    }

    fn close_fork(&mut self, fork: u32, arms: &[u32]) -> Result<(), SimulationError> {
        if arms.is_empty() {
            return self.refuse_here("a fork has no arm");
        }
        let (first, count) = (position(self.plan.arms.len()), position(arms.len()));
        self.plan.arms.extend_from_slice(arms);
        let next = self.next_position();
        self.plan.instructions[fork as usize] = Instruction::Fork { first, count };
        self.plan.instructions[fork as usize + 2] = Instruction::Jump { to: next };
        Ok(())
    }
}
